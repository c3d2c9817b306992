// Nanoseconds per element of the prelude's elementary functions in a plain loop over arrays that stay in the
// L2 cache.
//
//   vector_math_speed [clang|subprocess] [function ...]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "toolchain/toolchain.h"

#ifndef SUTURE_PLUGIN_PATH
#define SUTURE_PLUGIN_PATH ""
#endif

namespace {

constexpr int kElements = 16384;

struct Range {
  const char* name;
  double low, high;
  const char* second = "";  // second argument as text
};
constexpr Range kFunctions[] = {{"sin", -100, 100},
                                {"cos", -100, 100},
                                {"tan", -100, 100},
                                {"exp", -20, 20},
                                {"exp2", -20, 20},
                                {"expm1", -5, 5},
                                {"log", 1e-3, 1e3},
                                {"log2", 1e-3, 1e3},
                                {"log10", 1e-3, 1e3},
                                {"log1p", -0.9, 1e3},
                                {"sinh", -5, 5},
                                {"cosh", -5, 5},
                                {"tanh", -5, 5},
                                {"asin", -1, 1},
                                {"acos", -1, 1},
                                {"atan", -10, 10},
                                {"asinh", -10, 10},
                                {"acosh", 1, 100},
                                {"atanh", -1, 1},
                                {"cbrt", -10, 10},
                                {"atan2", -10, 10, ", 3 - x[i]"},
                                {"hypot", -10, 10, ", 3 - x[i]"},
                                {"pow", 0.1, 10, ", x[i] - 3"}};

template <class T>
double time_function(suture::Toolchain& toolchain, const Range& range) {
  const std::string type = sizeof(T) == 8 ? "double" : "float";
  const std::string text = fmt::format(
      "extern \"C\" uint32_t kernel(void* const* p, const int64_t* n) {{\n"
      "  const {0}* __restrict x = (const {0}*)p[0];\n  {0}* __restrict y = ({0}*)p[1];\n"
      "  const int64_t size = n[0];\n  for (int64_t i = 0; i < size; ++i) y[i] = vm_{1}(x[i]{2});\n  return "
      "0;\n}}\n",
      type, range.name, range.second);
  auto library = toolchain.compile({"bench", text, {"kernel"}, false});
  if (!library.ok()) {
    fmt::print(stderr, "{}\n", library.error().message);
    std::exit(1);
  }
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> inputs(range.low, range.high);
  std::vector<T> x(kElements), y(kElements);
  for (T& value : x) value = static_cast<T>(inputs(random));
  void* buffers[] = {x.data(), y.data()};
  const int64_t sizes[] = {kElements};
  double best = 1e9;
  for (int i = 0; i < 200; ++i) {
    const auto start = std::chrono::steady_clock::now();
    (*library)->find("kernel")(buffers, sizes);
    best = std::min(
        best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  }
  return best / kElements;
}

}  // namespace

int main(int argc, char** argv) {
  suture::ToolchainOptions options;
  options.kind = argc > 1 ? argv[1] : "clang";
  options.plugin_path = SUTURE_PLUGIN_PATH;
  auto toolchain = suture::make_toolchain(options);
  fmt::print("{:8} {:>9} {:>9}   ns per element, {}\n", "", "float64", "float32", toolchain->name());
  for (const Range& range : kFunctions) {
    if (argc > 2 && std::find(argv + 2, argv + argc, std::string(range.name)) == argv + argc) continue;
    fmt::print("{:8} {:9.3f} {:9.3f}\n", range.name, time_function<double>(*toolchain, range),
               time_function<float>(*toolchain, range));
  }
}
