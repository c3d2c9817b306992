#include "toolbox/toolbox.h"

#include "toolbox/clinic/clinic.h"
#include "toolbox/explain/explanation.h"

namespace suture::toolbox {

Result<std::string> explain_json(const std::vector<std::string>& lines, std::string_view status,
                                 const SourceLine& source_line) {
  SUTURE_TRY(statuses, parse_statuses(status));
  return explanation_json(Explanation(lines, std::move(statuses), source_line));
}

Result<std::string> explain_text(const std::vector<std::string>& lines, std::string_view status,
                                 const SourceLine& source_line) {
  SUTURE_TRY(statuses, parse_statuses(status));
  return explanation_text(Explanation(lines, std::move(statuses), source_line, Names::kForLines));
}

Result<std::string> clinic_json(const std::vector<std::string>& lines, std::string_view statuses,
                                std::string_view facts, const SourceLine& source_line,
                                CompileSource compile_source) {
  SUTURE_TRY(parsed_statuses, parse_statuses(statuses));
  SUTURE_TRY(parsed_facts, parse_facts(facts));
  parsed_facts.compile_source = std::move(compile_source);
  Explanation run(lines, std::move(parsed_statuses), source_line);
  return report_json(examine(run, std::move(parsed_facts)), source_line);
}

}  // namespace suture::toolbox
