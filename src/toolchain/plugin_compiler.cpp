// The clang plugin, seen from the host: a shared object that is opened at the first real compile, RTLD_LOCAL
// so that its LLVM does not meet another one in the process, and never closed (LLVM registers thread-local
// and exit-time state). A process has one per file: what it precompiled serves every toolchain, also those that other options
// make.
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <map>
#include <mutex>

#include "toolchain/compilers.h"
#include "toolchain/kernel_imports.h"
#include "toolchain/object_loader.h"
#include "toolchain/prelude.h"
#include "toolchain/target.h"

namespace suture {
namespace {

Result<std::unique_ptr<ObjectCompiler>> open_plugin(const std::string& path) {
  if (path.empty())
    return Error::unsupported("toolchain", "the in-process compiler was not built into this installation");
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* why = dlerror();
    return Error::unsupported("toolchain",
                              fmt::format("the in-process compiler cannot be loaded: {}", why ? why : path));
  }
  auto entry = reinterpret_cast<PluginEntry>(dlsym(handle, kPluginEntry));
  PluginConfig config;
  config.prelude = prelude_text();
  config.find_import = find_kernel_import;
  std::unique_ptr<ObjectCompiler> compiler(entry ? entry(&config) : nullptr);
  if (!compiler)
    return Error::unsupported("toolchain", fmt::format("{} is not the plugin of this version", path));
  return compiler;
}

class PluginCompiler : public ObjectCompiler {
 public:
  explicit PluginCompiler(std::string path) : path_(std::move(path)) {}

  std::string name() const override { return "clang 19 (in process)"; }

  // The plugin's own file stands for its flags and pipeline; LLVM is a shared library of the distribution,
  // whose updates within version 19 keep code correct.
  std::string identity() const override {
    struct stat status{};
    stat(path_.c_str(), &status);
    return fmt::format("clang-19 plugin {} {}.{:09} {}", status.st_size, status.st_mtim.tv_sec,
                       status.st_mtim.tv_nsec, host_cpu_key());
  }

  Result<ObjectCode> compile(const KernelSource& source) override {
    double load_ms = 0;
    SUTURE_TRY(compiler, plugin(load_ms));
    SUTURE_TRY(code, compiler->compile(source));
    code.times.load += load_ms;
    return code;
  }

  Result<std::unique_ptr<KernelLibrary>> load(const std::string& object,
                                              const std::vector<std::string>& symbols) override {
    // Without the plugin, which a kernel from the disk cache then never makes us open.
    auto loaded = load_object(object, symbols);
    if (loaded.ok() || loaded.error().kind != ErrorKind::kUnsupported) return loaded;
    double load_ms = 0;
    SUTURE_TRY(compiler, plugin(load_ms));
    SUTURE_TRY(library, compiler->load(object, symbols));
    library->times.load += load_ms;
    return library;
  }

  Result<std::string> disassemble(const std::string& object) override {
    double load_ms = 0;
    SUTURE_TRY(compiler, plugin(load_ms));
    return compiler->disassemble(object);
  }

 private:
  Result<ObjectCompiler*> plugin(double& load_ms) const {
    static auto& opened = *new std::map<std::string, std::unique_ptr<ObjectCompiler>>();  // outlives kernels
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    const auto known = opened.find(path_);
    if (known != opened.end()) return known->second.get();
    const auto start = std::chrono::steady_clock::now();
    SUTURE_TRY(compiler, open_plugin(path_));
    load_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return (opened[path_] = std::move(compiler)).get();
  }

  std::string path_;
};

}  // namespace

std::unique_ptr<ObjectCompiler> make_plugin_compiler(std::string plugin_path) {
  return std::make_unique<PluginCompiler>(std::move(plugin_path));
}

}  // namespace suture
