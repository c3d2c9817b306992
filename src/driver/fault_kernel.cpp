#include "driver/fault_kernel.h"

#include <fmt/format.h>

#include <algorithm>

namespace suture {
namespace {

// The part between " = " and the semicolon in front of the comment.
std::pair<size_t, size_t> value_in(const std::string& line) {
  const size_t equals = line.find(" = "), comment = line.find("  //");
  if (equals == std::string::npos) return {std::string::npos, 0};
  const size_t end = line.rfind(';', comment);
  if (end == std::string::npos || end < equals) return {std::string::npos, 0};
  return {equals + 3, end};
}

// A counter of the processor that no two moments share.
std::string_view clock_statement() {
#if defined(__x86_64__)
  return "uint64_t low, high; asm volatile(\"rdtsc\" : \"=a\"(low), \"=d\"(high)); const uint64_t now = "
         "low; ";
#elif defined(__aarch64__)
  return "uint64_t now; asm volatile(\"mrs %0, cntvct_el0\" : \"=r\"(now)); ";
#else
  return "static uint64_t now = 0; now += 1; ";
#endif
}

std::string act(const FaultText& fault) {
  constexpr std::string_view kIsFloat = "T(0.5) != T(0) && T(2) != T(1)";  // and no bool
  const std::string off = fmt::format(
      "if constexpr ({}) return x + T({}) * (x > 1 ? x : x < -1 ? -x : T(1)); else return T(x ^ 1); ",
      kIsFloat, fault.error);
  switch (fault.kind) {
    case FaultKind::kNan:
      return fmt::format("if constexpr ({}) return T(__builtin_nan(\"\")); else return T(0); ", kIsFloat);
    case FaultKind::kSegfault: return "*reinterpret_cast<volatile int*>(64) = 1; return x; ";
    case FaultKind::kTrap: return "__builtin_trap(); return x; ";
    case FaultKind::kHang: return "for (volatile int64_t spins = 0;; spins = spins + 1) {} return x; ";
    case FaultKind::kNondeterministic:
      return fmt::format("{}if (((now * 0x9e3779b97f4a7c15ull) >> 60) & 1) return x; {}", clock_statement(),
                         off);
    default: return off;
  }
}

// C++ text of the conditions that only a running kernel knows.
std::string conditions(const FaultText& fault) {
  std::string text;
  for (const FaultCondition& condition : fault.when) {
    if (condition.word != "call" && condition.word != "result") continue;
    const std::string actual = condition.word == "call" ? "injected_fault_runs[K]" : "x";
    const bool nan = condition.number != condition.number;
    text += text.empty() ? "" : " && ";
    if (nan)
      text += fmt::format("{0} {1} {0}", actual, condition.comparison == "!=" ? "==" : "!=");
    else
      text += fmt::format("{} {} {}", actual, condition.comparison, condition.number);
  }
  return text.empty() ? "true" : text;
}

}  // namespace

FaultyKernelText::FaultyKernelText(const std::string& cpp, const FaultText& fault) : fault_(fault) {
  for (size_t at = 0; at < cpp.size();) {
    const size_t end = std::min(cpp.find('\n', at), cpp.size());
    lines_.push_back(cpp.substr(at, end - at));
    at = end + 1;
  }
}

bool FaultyKernelText::has_value_at(const CodeLine& line) const {
  if (line.kind != CodeLine::Kind::kCompute && line.kind != CodeLine::Kind::kWrite) return false;
  if (spoiled_.contains(line.line)) return false;
  const std::string& text = lines_[static_cast<size_t>(line.line) - 1];
  return value_in(text).first != std::string::npos &&
         (line.kind == CodeLine::Kind::kWrite || text.find("const ") != std::string::npos);
}

void FaultyKernelText::spoil(const CodeLine& line, DType dtype, int kernel, const std::string& kernel_name) {
  std::string& text = lines_[static_cast<size_t>(line.line) - 1];
  const auto [begin, end] = value_in(text);
  text = fmt::format("{}injected_fault<{}, {}>({}){}", text.substr(0, begin), info(dtype).c_type, kernel,
                     text.substr(begin, end - begin), text.substr(end));
  spoiled_.insert(line.line);
  kernels_ = std::max(kernels_, kernel + 1);
  if (!counted_.insert(kernel).second) return;
  const std::string entry = fmt::format("extern \"C\" uint32_t {}(", kernel_name);
  for (std::string& each : lines_)
    if (each.starts_with(entry)) each += fmt::format(" injected_fault_runs[{}] += 1;", kernel);
}

std::string FaultyKernelText::helper() const {
  return fmt::format(
      "static int64_t injected_fault_runs[{}]; template <class T, int K> static inline T injected_fault(T x) "
      "{{ if (!({})) return x; {}}}  // ",
      kernels_, conditions(fault_), act(fault_));
}

std::string FaultyKernelText::finish() {
  if (!spoiled_.empty()) lines_.front() = helper() + "injected fault; " + lines_.front();
  std::string cpp;
  for (const std::string& line : lines_) cpp += line + "\n";
  return cpp;
}

}  // namespace suture
