// Largest error of every elementary function against MPFR, in units of the last place.
//
//   vector_math_accuracy [samples] [function ...]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "../tests/unit/toolchain/mpfr_reference.h"
#include "ops/op_info.h"
#include "toolchain/toolchain.h"

#ifndef SUTURE_PLUGIN_PATH
#define SUTURE_PLUGIN_PATH ""
#endif

namespace suture {
namespace {

struct Worst {
  double error = 0, x = 0, y = 0;
};

std::string kernel_text(const OpInfo& op, const std::string& type) {
  std::string call(op.cpp);
  for (size_t at; (at = call.find('$')) != std::string::npos;)
    call.replace(at, 2, call[at + 1] == '0' ? "a[i]" : "b[i]");
  return fmt::format(
      "extern \"C\" uint32_t kernel(void* const* p, const int64_t* n) {{\n"
      "  const {0}* __restrict a = (const {0}*)p[0];\n  const {0}* __restrict b = (const {0}*)p[1];\n"
      "  {0}* __restrict y = ({0}*)p[2];\n  const int64_t size = n[0];\n"
      "  for (int64_t i = 0; i < size; ++i) y[i] = {1};\n  return 0;\n}}\n",
      type, call);
}

template <class T>
Worst measure(Toolchain& toolchain, const Reference& reference, size_t samples) {
  const OpInfo& op = info(*op_from_name(reference.op));
  auto library = toolchain.compile(
      {"accuracy", kernel_text(op, sizeof(T) == 8 ? "double" : "float"), {"kernel"}, false});
  if (!library.ok()) {
    fmt::print(stderr, "{}\n", library.error().message);
    std::exit(1);
  }
  std::vector<T> x = random_values<T>(samples, 1), y = random_values<T>(samples, 2), out(x.size());
  for (T edge : edge_values<T>()) x.push_back(edge), y.push_back(edge);
  out.resize(x.size());
  std::mt19937_64 random(3);
  std::shuffle(y.begin(), y.end(), random);
  void* buffers[] = {x.data(), y.data(), out.data()};
  const int64_t sizes[] = {static_cast<int64_t>(x.size())};
  (*library)->find("kernel")(buffers, sizes);
  Worst worst;
  for (size_t i = 0; i < x.size(); ++i)
    if (const double error = ulp_error(reference, x[i], y[i], out[i]); error > worst.error)
      worst = {error, x[i], y[i]};
  return worst;
}

}  // namespace
}  // namespace suture

int main(int argc, char** argv) {
  suture::ToolchainOptions options;
  options.kind = std::getenv("SUTURE_TOOLCHAIN") ? std::getenv("SUTURE_TOOLCHAIN") : "clang";
  options.plugin_path = SUTURE_PLUGIN_PATH;
  auto toolchain = suture::make_toolchain(options);
  const size_t samples = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100000;
  fmt::print("{:8} {:>8} at {:<44} {:>8} at\n", "ULP", "float64", "", "float32");
  for (const suture::Reference& reference : suture::references()) {
    if (argc > 2 && std::find(argv + 2, argv + argc, std::string(reference.op)) == argv + argc) continue;
    const auto d = suture::measure<double>(*toolchain, reference, samples);
    const auto f = suture::measure<float>(*toolchain, reference, samples);
    fmt::print("{:8} {:8.3f} at {:22} {:22} {:8.3f} at {} {}\n", reference.op, d.error, d.x, d.y, f.error,
               f.x, f.y);
  }
}
