// ObjectCompiler: C++ text -> object bytes -> loaded kernels. What the toolchains have in common, so that one
// disk cache serves them all; also the boundary to the clang plugin, which is a shared object of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "toolchain/toolchain.h"

namespace suture {

struct ObjectCode {
  std::string bytes;
  CompileTimes times;
};

class ObjectCompiler {
 public:
  virtual ~ObjectCompiler() = default;
  virtual std::string name() const = 0;
  // Everything besides the source text that decides the bytes: compiler version, flags, CPU. Must be cheap:
  // it is asked before the cache is, and must not load a compiler.
  virtual std::string identity() const = 0;
  virtual Result<ObjectCode> compile(const KernelSource& source) = 0;
  // Fills times.link and code_bytes of the library.
  virtual Result<std::unique_ptr<KernelLibrary>> load(const std::string& object,
                                                      const std::vector<std::string>& symbols) = 0;
  virtual Result<std::string> disassemble(const std::string& object) = 0;
};

// --- the plugin boundary
// ------------------------------------------------------------------------------------------------- Host and
// plugin are built together with the same compiler; the version only catches a stale file.
constexpr int kPluginVersion = 4;
constexpr const char* kPluginEntry = "suture_clang_plugin";

struct PluginConfig {
  int version = kPluginVersion;
  std::string_view prelude;  // lives as long as the process
  void* (*find_import)(std::string_view) =
      nullptr;  // functions that kernels may call; null for every other name
};
// Null when the versions differ. The caller owns the result.
using PluginEntry = ObjectCompiler* (*)(const PluginConfig*);

}  // namespace suture
