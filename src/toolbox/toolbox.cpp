#include "toolbox/toolbox.h"

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
  return explanation_text(Explanation(lines, std::move(statuses), source_line));
}

}  // namespace suture::toolbox
