// The line table of a kernel, as files and traces hold it (docs/provenance.md): what its writers and readers agree on.
#pragma once

namespace suture {

inline constexpr const char* kKernelLinesSchema = "suture.kernel_lines/1";
inline constexpr const char* kKernelLinesSuffix = ".lines.json";  // NAME.lines.json beside NAME.cpp

}  // namespace suture
