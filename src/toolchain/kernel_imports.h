// The closed list of C functions that loaded kernels may call.
#pragma once

#include <string_view>

namespace suture {

void* find_kernel_import(std::string_view name);  // null: kernels may not call it

}  // namespace suture
