// Texts that dumps hold besides those of their compiles.
#pragma once

#include <string_view>

namespace suture::toolbox {

// run_support.h of the dump: what the mains of output_code.cpp call.
std::string_view run_support_text();

}  // namespace suture::toolbox
