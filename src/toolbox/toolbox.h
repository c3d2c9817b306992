// The toolbox as bindings/ offers it to Python (python/suture/_toolbox.pyi). Text in, text out; no Python, no
// compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "toolbox/decompile/decompile.h"
#include "toolbox/logs/chrome_trace.h"
#include "toolbox/logs/log_renderer.h"
#include "toolbox/logs/log_settings.h"
#include "toolbox/logs/trace_diff.h"
#include "toolbox/model/text.h"

namespace suture::toolbox {

// `status`: JSON of one status or a list; "" when unknown. Errors: kUnsupported, `status` is not JSON.
Result<std::string> explain_json(const std::vector<std::string>& lines, std::string_view status,
                                 const SourceLine& source_line);
Result<std::string> explain_text(const std::vector<std::string>& lines, std::string_view status,
                                 const SourceLine& source_line);

// See clinic/clinic.h for `facts` and the schema of the report. `compile_source` checks decompiled text; null: it stays unverified.
Result<std::string> clinic_json(const std::vector<std::string>& lines, std::string_view statuses,
                                std::string_view facts, const SourceLine& source_line,
                                CompileSource compile_source = nullptr);
// `report`: what clinic_json returned.
Result<std::string> clinic_text(std::string_view report);

}  // namespace suture::toolbox
