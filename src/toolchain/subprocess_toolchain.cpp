// A compiler process makes a small shared object: slower than the plugin (50 ms and more), but it needs only
// g++ or clang++.
//
// The shared object is written to a private directory that is removed as soon as dlopen has mapped the file.
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "toolchain/child_process.h"
#include "toolchain/compilers.h"
#include "toolchain/prelude.h"
#include "toolchain/target.h"

namespace suture {
namespace {

constexpr int kTimeoutSeconds = 120;
// Trapping math stays as each compiler has it: without it g++ computes 1 / 0.0 itself, and the flag is lost.
// -nostdlib with -lm: nothing but libm is linked, and the file says so itself instead of relying on what is
// loaded.
constexpr const char* kMeaningFlags[] = {"-std=c++20",
                                         "-march=native",
                                         "-ffp-contract=off",
                                         "-fno-math-errno",
                                         "-fno-strict-aliasing",
                                         "-w",
                                         "-mprefer-vector-width=512"};
// By KernelSource::opt. What tells 2 from 3 is the vectoriser, with every compiler.
constexpr const char* kLevels[] = {"-O0", "-O1", "-O2 -fno-tree-vectorize", "-O3"};
constexpr const char* kObjectFlags[] = {"-x",    "c++",     "-fno-exceptions", "-fno-rtti",
                                        "-fPIC", "-shared", "-nostdlib"};
constexpr const char* kLibraries[] = {"-x", "none", "-lm"};

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    const char* base = std::getenv("TMPDIR");
    path_ = fmt::format("{}/suture-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(path_.data())) path_.clear();  // mkdtemp makes it 0700
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory() {
    if (path_.empty()) return;
    for (const char* name : kNames) unlink((path_ + "/" + name).c_str());
    rmdir(path_.c_str());
  }
  bool ok() const { return !path_.empty(); }
  std::string file(const char* name) const { return path_ + "/" + name; }

  static constexpr const char* kNames[] = {"prelude.h", "kernel.cpp", "kernel.so"};

 private:
  std::string path_;
};

bool write_file(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  return out.flush().good();
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in.good() && !in.eof()) return Error::internal("toolchain", path + " cannot be read");
  return text.str();
}

Error no_directory() {
  return Error::unsupported("toolchain",
                            "no temporary directory can be made; set TMPDIR to one that is writable");
}

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return access(name.c_str(), X_OK) == 0 ? name : "";
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "/usr/bin:/bin");
  for (std::string directory; std::getline(path, directory, ':');)
    if (const std::string file = directory + "/" + name; access(file.c_str(), X_OK) == 0) return file;
  return "";
}

std::vector<std::string> split_words(const std::string& command) {
  std::istringstream in(command);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

// The command as words ("ccache g++" is allowed), empty when no program exists.
std::vector<std::string> find_compiler(const std::string& wanted) {
  std::vector<std::string> candidates = {wanted};
  if (wanted.empty()) candidates = {std::getenv("CXX") ? std::getenv("CXX") : "", "g++", "clang++"};
  for (const std::string& candidate : candidates) {
    std::vector<std::string> words = split_words(candidate);
    if (words.empty()) continue;
    if (std::string file = find_program(words[0]); !file.empty()) {
      words[0] = file;
      return words;
    }
  }
  return {};
}

class SharedObject : public KernelLibrary {
 public:
  explicit SharedObject(void* handle) : handle_(handle) {}
  ~SharedObject() override { dlclose(handle_); }
  suture_kernel_fn find(const std::string& symbol) const override {
    return reinterpret_cast<suture_kernel_fn>(dlsym(handle_, symbol.c_str()));
  }

 private:
  void* handle_;
};

class SubprocessCompiler : public ObjectCompiler {
 public:
  explicit SubprocessCompiler(std::string wanted)
      : wanted_(std::move(wanted)), command_(find_compiler(wanted_)) {}

  std::string name() const override {
    if (command_.empty()) return "no compiler";
    return command_.back().substr(command_.back().rfind('/') + 1);
  }
  std::string identity() const override;
  Result<ObjectCode> compile(const KernelSource& source) override;
  Result<std::unique_ptr<KernelLibrary>> load(const std::string& object,
                                              const std::vector<std::string>& symbols) override;
  Result<std::string> disassemble(const std::string& object) override;

 private:
  Error missing() const;
  std::vector<std::string> command_line(const TemporaryDirectory& directory,
                                        const KernelSource& source) const;

  std::string wanted_;
  std::vector<std::string> command_;
};

// Size and time of the compiler's file stand for its version: asking it would cost a process.
std::string SubprocessCompiler::identity() const {
  std::string text = host_cpu_key();
  for (const std::string& word : command_) {
    struct stat status{};
    stat(word.c_str(), &status);
    text += fmt::format(" {} {} {}", word, status.st_size, status.st_mtim.tv_sec);
  }
  for (const char* flag : kMeaningFlags) text += fmt::format(" {}", flag);
  for (const char* flags : kLevels) text += fmt::format(" {}", flags);
  for (const char* flag : kObjectFlags) text += fmt::format(" {}", flag);
  return text;
}

Error SubprocessCompiler::missing() const {
  const std::string what = wanted_.empty() ? "no C++ compiler was found ($CXX, g++, clang++)"
                                           : fmt::format("the compiler '{}' was not found", wanted_);
  return Error::unsupported("toolchain", what + "; install one, for example: apt install g++");
}

std::vector<std::string> SubprocessCompiler::command_line(const TemporaryDirectory& directory,
                                                          const KernelSource& source) const {
  std::vector<std::string> line = command_;
  if (source.debug_info) line.emplace_back("-g1");
  line.insert(line.end(), std::begin(kMeaningFlags), std::end(kMeaningFlags));
  for (std::string& flag : split_words(kLevels[source.opt])) line.push_back(std::move(flag));
  line.insert(line.end(), std::begin(kObjectFlags), std::end(kObjectFlags));
  line.insert(line.end(), {"-include", directory.file("prelude.h"), directory.file("kernel.cpp"), "-o",
                           directory.file("kernel.so")});
  line.insert(line.end(), std::begin(kLibraries), std::end(kLibraries));
  return line;
}

Result<ObjectCode> SubprocessCompiler::compile(const KernelSource& source) {
  if (command_.empty()) return missing();
  const TemporaryDirectory directory;
  if (!directory.ok() || !write_file(directory.file("prelude.h"), prelude_text()) ||
      !write_file(directory.file("kernel.cpp"), source.cpp))
    return no_directory();
  const auto start = std::chrono::steady_clock::now();
  SUTURE_TRY(outcome, run_child(command_line(directory, source), kTimeoutSeconds));
  if (outcome.timed_out)
    return Error::unsupported("toolchain",
                              fmt::format("{} took more than {} s and was ended", name(), kTimeoutSeconds));
  if (outcome.exit_code == 127 && outcome.output.empty()) return missing();
  if (outcome.exit_code != 0)
    return Error::internal("toolchain", fmt::format("{} failed (exit code {}, signal {}):\n{}", name(),
                                                    outcome.exit_code, outcome.signal, outcome.output));
  ObjectCode code;
  SUTURE_TRY(bytes, read_file(directory.file("kernel.so")));
  code.bytes = std::move(bytes);
  // One process does everything; its time is shown as code generation.
  code.times.codegen =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return code;
}

Result<std::unique_ptr<KernelLibrary>> SubprocessCompiler::load(const std::string& object,
                                                                const std::vector<std::string>& symbols) {
  const auto start = std::chrono::steady_clock::now();
  const TemporaryDirectory directory;
  const std::string file = directory.ok() ? directory.file("kernel.so") : "";
  if (file.empty() || !write_file(file, object)) return no_directory();
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return Error::unsupported("toolchain", fmt::format("a compiled kernel cannot be loaded: {}", dlerror()));
  auto library = std::make_unique<SharedObject>(handle);
  for (const std::string& symbol : symbols)
    if (!library->find(symbol))
      return Error::internal("toolchain", fmt::format("the object has no symbol {}", symbol));
  library->code_bytes = object.size();
  library->times.link =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return std::unique_ptr<KernelLibrary>(std::move(library));
}

Result<std::string> SubprocessCompiler::disassemble(const std::string& object) {
  const TemporaryDirectory directory;
  if (!directory.ok() || !write_file(directory.file("kernel.so"), object)) return no_directory();
  const std::string program = find_program("objdump");
  if (program.empty())
    return Error::unsupported("toolchain",
                              "objdump was not found; install one, for example: apt install binutils");
  SUTURE_TRY(outcome, run_child({program, "-d", "--no-show-raw-insn", "-M", "intel", "-j", ".text",
                                 directory.file("kernel.so")},
                                kTimeoutSeconds));
  if (outcome.exit_code != 0 || outcome.timed_out)
    return Error::unsupported("toolchain", fmt::format("objdump failed: {}", outcome.output));
  // The first lines name the temporary file, which is gone.
  const size_t section = outcome.output.find("Disassembly of section");
  std::string listing = outcome.output.substr(section == std::string::npos ? 0 : section);
  if (outcome.output.size() >= kChildOutputLimit) listing += "\n(cut here: the listing is longer)\n";
  return listing;
}

}  // namespace

std::string kernel_flags() { return fmt::format("{} {}", fmt::join(kMeaningFlags, " "), kLevels[3]); }

std::unique_ptr<ObjectCompiler> make_subprocess_compiler(std::string command) {
  return std::make_unique<SubprocessCompiler>(std::move(command));
}

}  // namespace suture
