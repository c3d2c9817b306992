// Raw CPUID words instead of a list of feature names: a feature this file has never heard of still changes
// the key, and no compiler library has to be loaded to ask.
#include "toolchain/target.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace suture {
namespace {

#if defined(__x86_64__)
std::string cpuid_words() {
  std::string key;
  unsigned a = 0, b = 0, c = 0, d = 0;
  // Leaf 1: signature and features; EBX holds the core's number and is left out.
  if (__get_cpuid(1, &a, &b, &c, &d)) key += fmt::format("{:x}.{:x}.{:x}", a, c, d);
  for (unsigned sub = 0; sub < 2; ++sub)
    if (__get_cpuid_count(7, sub, &a, &b, &c, &d)) key += fmt::format(".{:x}.{:x}.{:x}.{:x}", a, b, c, d);
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) key += fmt::format(".{:x}.{:x}", c, d);
  // Which register files the operating system saves decides whether AVX is usable at all.
  if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d)) key += fmt::format(".{:x}", a);
  return key;
}
#else
std::string cpuid_words() { return "unknown"; }
#endif

}  // namespace

std::string host_cpu_key() {
  utsname name{};
  uname(&name);
  return fmt::format("{} {}", name.machine, cpuid_words());
}

}  // namespace suture
