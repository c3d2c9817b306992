// Toolchain: C++ text of a graph -> callable kernels. The clang implementation lives in its own shared object
// (libsuture_toolchain), loaded at the first real compile; `subprocess` needs only a compiler on PATH.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "plan/kernel_abi.h"

namespace suture {

struct CompileTimes {  // milliseconds
  double load = 0;     // dlopen of the compiler, first time only
  double frontend = 0, optimise = 0, codegen = 0, link = 0;
  double total() const { return load + frontend + optimise + codegen + link; }
};

// Loaded machine code. Symbols stay valid while the library lives.
class KernelLibrary {
 public:
  virtual ~KernelLibrary() = default;
  virtual suture_kernel_fn find(const std::string& symbol) const = 0;
  std::string source_path;  // .cpp on disk, or "" when the cache directory could not be written
  std::string cache_dir;    // "" when the disk cache is off
  std::string note;         // why the cache directory cannot be used; "" = nothing to tell
  CompileTimes times;
  bool from_cache = false;
  std::string cache_key;     // hexadecimal digest; "" without a disk cache
  std::string cache_reason;  // "hit", or why there was none
  std::string tool;          // "clang 19 (in process)", "g++", "disk cache"
  size_t code_bytes = 0;
  std::string object;  // the file it was loaded from, for disassembly
  std::vector<uint64_t>
      sections;  // addresses of the sections of `object`, 0 of those not loaded; empty: not known
  std::shared_ptr<const void> profile_record;  // what profilers were told of it
  std::string profile_trouble;                 // why profilers are not told of it; "" = nothing to tell
};

// The user's line that a line of KernelSource::cpp is made from.
struct UserLine {
  int line = 0;  // of `cpp`, 1-based
  std::string file;
  int user_line = 0;
};

struct KernelSource {
  std::string graph_name;  // "f_graph_0": stem of the file name
  std::string cpp;         // kernels only; the toolchain adds the prelude
  std::vector<std::string> symbols;
  bool fast_math = false;  // numerics="fast"
  int opt = 3;             // 0 nothing is optimised, 1 within loops, 2 across loops, 3 with vectors
  std::string line_table;  // what each line of `cpp` is made from, as JSON; lies beside the source on disk
  // For debuggers and profilers: the machine code gets line tables that name these lines, ascending by `line`.
  bool debug_info = false;
  std::string function;  // of the user, which debuggers and profilers show
  std::string place;     // of the function, "prog.py:5 [0/1]", for profilers; decides nothing about the code
  std::vector<UserLine> user_lines;
};

class Toolchain {
 public:
  virtual ~Toolchain() = default;
  virtual std::string name() const = 0;
  virtual Result<std::unique_ptr<KernelLibrary>> compile(const KernelSource& source) = 0;
  // Compiles what is not in the disk cache in one run of the compiler per set of flags, so that compile() finds it there. A source
  // that is alone with its flags is left for compile(), and so are those with debug_info; without a cache all are. An error tells
  // nothing of any one source: compile() does.
  virtual Status compile_ahead(std::span<const KernelSource> sources) = 0;
  virtual int64_t compiler_runs() const = 0;  // until now, also those that failed
  // A listing of KernelLibrary::object. Loads LLVM, or runs a program.
  virtual Result<std::string> disassemble(const std::string& object) = 0;
};

struct ToolchainOptions {
  std::string kind = "auto";  // "auto" | "clang" | "subprocess"
  std::string cache_dir;      // "" = disk cache off
  std::string plugin_path;    // libsuture_toolchain.so
  std::string compiler;       // subprocess: "" = first of $CXX, g++, clang++ found on PATH
  std::string profile;        // "" | "map" | "jitdump": what profilers read (profile_file.h)
  std::string profile_dir;    // of the jitdump
};
// auto: clang when the plugin loads, else subprocess, else an error that says what to install.
// The result compiles through the disk cache when cache_dir is set.
std::unique_ptr<Toolchain> make_toolchain(const ToolchainOptions& options);

}  // namespace suture
