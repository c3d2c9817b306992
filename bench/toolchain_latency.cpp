// What compiling one kernel costs: the first compile of a process, then the median of warm ones, split by
// step. "cpu" is the time of the compiling thread; it says more than the others on a busy machine.
//
//   toolchain_latency [clang|subprocess] [file.cpp]     file: kernel text to compile instead of the built-in
//   one
#include <fmt/format.h>

#include <time.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>

#include "toolchain/toolchain.h"

#ifndef SUTURE_PLUGIN_PATH
#define SUTURE_PLUGIN_PATH ""
#endif

namespace {

// y = sin(x) + 1 and whether its sum is positive: the first graph of the tutorial's function.
constexpr const char* kKernel = R"(
extern "C" uint32_t kernel(void* const* buffers, const int64_t* sizes) {
  uint32_t status = 0;
  const double* __restrict x = (const double*)buffers[0];
  double* __restrict y = (double*)buffers[1];
  double* __restrict total = (double*)buffers[2];
  const int64_t n = sizes[0];
  double sum = 0;
  for (int64_t block = 0; block < n; block += 128) {
    const int64_t size = sym_min(128, n - block);
    for (int64_t i = 0; i < size; ++i) y[block + i] = op_add(vm_sin(x[block + i]), 1.0);
    f64x8 lanes = {};
    for (int64_t i = 0; i + 8 <= size; i += 8) lanes += *(const f64x8*)(y + block + i);
    sum += ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  }
  *total = sum;
  return status;
}
)";

struct Sample {
  suture::CompileTimes times;
  double wall = 0, cpu = 0;
};

double thread_cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

Sample compile_once(suture::Toolchain& toolchain, const std::string& text) {
  const auto start = std::chrono::steady_clock::now();
  const double cpu = thread_cpu_ms();
  auto library = toolchain.compile({"bench", text, {"kernel"}, false});
  const double wall =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!library.ok()) {
    fmt::print(stderr, "{}\n", library.error().message);
    std::exit(1);
  }
  return {(*library)->times, wall, thread_cpu_ms() - cpu};
}

void print_row(const char* label, const Sample& s) {
  fmt::print("{:12} {:8.2f} {:8.2f} {:8.2f} {:8.2f} {:8.2f} {:8.2f} {:8.2f}\n", label, s.wall, s.cpu,
             s.times.load, s.times.frontend, s.times.optimise, s.times.codegen, s.times.link);
}

}  // namespace

int main(int argc, char** argv) {
  suture::ToolchainOptions options;
  options.kind = argc > 1 ? argv[1] : "clang";
  options.plugin_path = SUTURE_PLUGIN_PATH;
  std::string text = kKernel;
  if (argc > 2) {
    std::ifstream in(argv[2]);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  auto toolchain = suture::make_toolchain(options);
  fmt::print("{:12} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}   (ms)\n", toolchain->name().substr(0, 12),
             "total", "cpu", "load", "frontend", "optimise", "codegen", "link");
  print_row("first", compile_once(*toolchain, text));
  std::vector<Sample> warm;
  for (int i = 0; i < 21; ++i) warm.push_back(compile_once(*toolchain, text));
  std::ranges::sort(warm, {}, &Sample::cpu);
  print_row("warm median", warm[warm.size() / 2]);
  print_row("warm best", warm[0]);
}
