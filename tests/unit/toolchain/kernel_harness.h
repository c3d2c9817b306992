// Compiles one elementwise expression with the toolchain under test and runs it over arrays.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "toolchain/toolchain.h"

#ifndef SUTURE_PLUGIN_PATH
#define SUTURE_PLUGIN_PATH ""
#endif

namespace suture {

inline bool have_plugin() { return std::string(SUTURE_PLUGIN_PATH) != ""; }

template <class T>
std::string c_name() {
  if (std::is_same_v<T, bool>) return "bool";
  if (std::is_same_v<T, float>) return "float";
  if (std::is_same_v<T, double>) return "double";
  return std::string(std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T)) + "_t";
}

// bool has no contiguous std::vector.
template <class T>
using Array = std::vector<std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>>;

struct Kernel {
  std::unique_ptr<KernelLibrary> library;
  suture_kernel_fn function = nullptr;
};

// The kernel `out[i] = expression` over arrays a and b; `status` is in scope.
template <class R, class T>
Kernel compile_expression(Toolchain& toolchain, const std::string& expression) {
  KernelSource source;
  source.graph_name = "test";
  source.symbols = {"k"};
  source.cpp = "extern \"C\" uint32_t k(void* const* buffers, const int64_t* sizes) {\n  const " +
               c_name<T>() + "* __restrict A = (const " + c_name<T>() + "*)buffers[0];\n  const " +
               c_name<T>() + "* __restrict B = (const " + c_name<T>() + "*)buffers[1];\n  " + c_name<R>() +
               "* __restrict out = (" + c_name<R>() + "*)buffers[2];\n  uint32_t status = 0;\n" +
               "  const int64_t n = sizes[0];\n  for (int64_t i = 0; i < n; ++i) {\n    const " +
               c_name<T>() + " a = A[i], b = B[i];\n    out[i] = " + expression +
               ";\n  }\n  return status;\n}\n";
  auto library = toolchain.compile(source);
  if (!library.ok()) {
    ADD_FAILURE() << library.error().message << "\n" << source.cpp;
    return {};
  }
  Kernel kernel{std::move(library).value(), nullptr};
  kernel.function = kernel.library->find("k");
  return kernel;
}

template <class R, class T>
uint32_t run(const Kernel& kernel, const Array<T>& a, const Array<T>& b, Array<R>& out) {
  out.assign(a.size(), {});
  void* buffers[] = {const_cast<void*>(static_cast<const void*>(a.data())),
                     const_cast<void*>(static_cast<const void*>(b.data())), out.data()};
  const int64_t sizes[] = {static_cast<int64_t>(a.size())};
  return kernel.function(buffers, sizes);
}

}  // namespace suture
