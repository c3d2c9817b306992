// What the host CPU is, for cache keys. The compilers ask the CPU themselves.
#pragma once

#include <string>

namespace suture {

// Differs whenever two CPUs could need different machine code.
std::string host_cpu_key();

}  // namespace suture
