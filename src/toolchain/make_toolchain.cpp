// The toolchain that everybody gets: the first compiler that works, behind the disk cache.
//
// How it works
//   Key = digest of everything that decides the machine code. On a hit the object is loaded and no compiler
//   runs. On a miss the compilers are tried in order; kUnsupported (not installed, not loadable) moves on to
//   the next one for good, while kInternal (generated code was rejected) is final: another compiler would
//   only hide the defect.
// Invariants
//   - The cache can only save time: every failure of it leaves a note in the library and is otherwise
//     ignored.
//   - An object from the cache that does not load is compiled again.
#include <fmt/format.h>

#include <atomic>
#include <map>
#include <optional>
#include <set>

#include "base/kernel_lines.h"
#include "toolchain/compilers.h"
#include "toolchain/debug_text.h"
#include "toolchain/joined_kernels.h"
#include "toolchain/kernel_cache.h"
#include "toolchain/kernel_key.h"
#include "toolchain/prelude.h"
#include "toolchain/profile_file.h"

namespace suture {
namespace {

constexpr int kKernelAbiVersion = 2;

class CachingToolchain : public Toolchain {
 public:
  CachingToolchain(std::vector<std::unique_ptr<ObjectCompiler>> compilers, const ToolchainOptions& options)
      : compilers_(std::move(compilers)),
        cache_dir_(options.cache_dir),
        prelude_(sha256(prelude_text())),
        profile_(profile_file(options.profile, options.profile_dir)) {}

  std::string name() const override { return compilers_[current_]->name(); }
  Result<std::unique_ptr<KernelLibrary>> compile(const KernelSource& source) override;
  Status compile_ahead(std::span<const KernelSource> sources) override;
  int64_t compiler_runs() const override { return compiler_runs_; }
  Result<std::string> disassemble(const std::string& object) override {
    return compilers_[current_]->disassemble(object);
  }

 private:
  Digest key(const ObjectCompiler& compiler, const KernelSource& source) const;
  Result<ObjectCode> run(ObjectCompiler& compiler, const KernelSource& source);
  Status compile_joined(const std::vector<KernelSource>& sources, KernelCache& cache);
  Result<std::unique_ptr<KernelLibrary>> load(ObjectCompiler& compiler, const KernelSource& source,
                                              std::string object, KernelCache& cache) const;
  Result<std::unique_ptr<KernelLibrary>> compile_with(ObjectCompiler& compiler, const KernelSource& source,
                                                      KernelCache& cache);
  void write_sources(const KernelSource& source, KernelCache& cache, KernelLibrary& library) const;

  std::vector<std::unique_ptr<ObjectCompiler>> compilers_;
  size_t current_ = 0;
  std::atomic<int64_t> compiler_runs_ = 0;
  std::string cache_dir_;
  Digest prelude_;
  ProfileFile* profile_;  // null: profilers are not told
};

// Of the kernel's file, without its ending. Of the table too: two programs may give the same text, made from lines of
// different files.
std::string file_stem(const KernelSource& source) {
  const std::string digest = to_hex(sha256(source.cpp + source.line_table)).substr(0, 16);
  return fmt::format("{}_{}", safe_file_stem(source.graph_name), digest);
}

// What profilers show: one line, the user's function first. What tells names apart is at the end, so the front is cut.
std::string profile_name(const KernelSource& source, const std::string& symbol) {
  constexpr size_t kLongest = 200;
  std::string name =
      fmt::format("{}@{} {} {}{}", source.function.substr(0, kLongest), source.place.substr(0, kLongest),
                  symbol.substr(0, kLongest), file_stem(source), source.fast_math ? " fast" : "");
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  return name;
}

std::vector<NamedCode> named_code(const KernelLibrary& library, const KernelSource& source) {
  std::vector<NamedCode> out;
  for (CodeRange& range : code_ranges(library.object, library.sections)) {
    std::string name = profile_name(source, range.symbol);
    std::string code(reinterpret_cast<const char*>(range.address), range.size);
    out.push_back({std::move(name), std::move(range), std::move(code)});
  }
  return out;
}

}  // namespace

// Line by line: a format string would end at an embedded NUL.
Digest kernel_key(const std::string& compiler, const Digest& prelude, const KernelSource& source) {
  std::string text = fmt::format("abi {}\nprelude {}\nfast {}\nopt {}\ncompiler {} {}\n", kKernelAbiVersion,
                                 to_hex(prelude), source.fast_math, source.opt, compiler.size(), compiler);
  if (source.debug_info) text += fmt::format("debug {} {}\n", source.function.size(), source.function);
  for (const std::string& symbol : source.symbols) text += fmt::format("symbol {}\n", symbol);
  return sha256(text + source.cpp);
}

namespace {

Digest CachingToolchain::key(const ObjectCompiler& compiler, const KernelSource& source) const {
  return kernel_key(compiler.identity(), prelude_, source);
}

Result<std::unique_ptr<KernelLibrary>> CachingToolchain::compile(const KernelSource& source) {
  KernelCache cache(cache_dir_);
  std::optional<KernelSource> directed;  // the file on disk stays as it reads best
  if (source.debug_info) {
    directed = source;
    directed->cpp = with_line_directives(source.cpp, source.user_lines);
  }
  for (;;) {
    auto library = compile_with(*compilers_[current_], directed ? *directed : source, cache);
    if (library.ok()) {
      write_sources(source, cache, **library);
      (*library)->cache_dir = cache_dir_;
      (*library)->note = cache.trouble();
      if (profile_) {
        const auto record = std::make_shared<const std::vector<NamedCode>>(named_code(**library, source));
        (*library)->profile_record = record;
        (*library)->profile_trouble = profile_->add(record);
      }
      return library;
    }
    const bool try_next = library.error().kind == ErrorKind::kUnsupported && current_ + 1 < compilers_.size();
    if (!try_next) return library;
    ++current_;
  }
}

Result<std::unique_ptr<KernelLibrary>> CachingToolchain::compile_with(ObjectCompiler& compiler,
                                                                      const KernelSource& source,
                                                                      KernelCache& cache) {
  const Digest digest = cache.enabled() ? key(compiler, source) : Digest{};
  const std::string key_text = cache.enabled() ? to_hex(digest) : "";
  std::string reason = cache.enabled() ? "no entry has this key" : "the disk cache is off";
  if (cache.enabled()) {
    if (auto object = cache.load(digest)) {
      auto library = load(compiler, source, std::move(*object), cache);
      if (library.ok()) {
        (*library)->from_cache = true;
        (*library)->tool = "disk cache";
        (*library)->cache_key = key_text;
        (*library)->cache_reason = "hit";
        return library;
      }
      reason = "the entry cannot be loaded: " + library.error().message;
    } else if (!cache.miss_reason().empty()) {
      reason = cache.miss_reason();
    }
  }
  SUTURE_TRY(code, run(compiler, source));
  SUTURE_TRY(library, compiler.load(code.bytes, source.symbols));
  if (cache.enabled()) cache.store(digest, code.bytes);
  const double link = library->times.link;
  library->times = code.times;
  library->times.link += link;
  library->tool = compiler.name();
  library->object = std::move(code.bytes);
  library->cache_key = key_text;
  library->cache_reason = reason;
  return library;
}

Result<ObjectCode> CachingToolchain::run(ObjectCompiler& compiler, const KernelSource& source) {
  ++compiler_runs_;
  return compiler.compile(source);
}

// From what a cache entry holds: an object, or where the object is that the kernels are part of.
Result<std::unique_ptr<KernelLibrary>> CachingToolchain::load(ObjectCompiler& compiler,
                                                              const KernelSource& source, std::string object,
                                                              KernelCache& cache) const {
  const std::optional<PartOfObject> place = PartOfObject::read(object);
  if (!place) {
    SUTURE_TRY(library, compiler.load(object, source.symbols));
    library->object = std::move(object);
    return library;
  }
  auto whole = cache.load(place->whole);
  if (!whole) return Error::unsupported("toolchain", "the object that it is part of is gone");
  SUTURE_TRY(library, compiler.load(*whole, symbols_in_part(source.symbols, place->part)));
  library = part_of(std::move(library), source.symbols, place->part);
  library->object = std::move(*whole);
  return library;
}

Status CachingToolchain::compile_ahead(std::span<const KernelSource> sources) {
  KernelCache cache(cache_dir_);
  if (!cache.enabled()) return ok_status();
  std::set<Digest> seen;
  std::map<std::pair<bool, int>, std::vector<KernelSource>> missing;  // by flags
  for (const KernelSource& source : sources) {
    const Digest digest = key(*compilers_[current_], source);
    if (source.debug_info || !seen.insert(digest).second || cache.load(digest)) continue;
    missing[{source.fast_math, source.opt}].push_back(source);
  }
  Status ended = ok_status();
  for (const auto& [flags, group] : missing) {
    if (group.size() < 2) continue;
    if (Status joined = compile_joined(group, cache); !joined.ok()) ended = std::move(joined);
  }
  return ended;
}

Status CachingToolchain::compile_joined(const std::vector<KernelSource>& sources, KernelCache& cache) {
  ObjectCompiler& compiler = *compilers_[current_];
  const KernelSource whole = joined(sources);
  SUTURE_TRY(code, run(compiler, whole));
  const Digest digest = key(compiler, whole);
  cache.store(digest, code.bytes);
  for (size_t part = 0; part < sources.size(); ++part)
    cache.store(key(compiler, sources[part]), PartOfObject{part, digest}.payload());
  return ok_status();
}

void CachingToolchain::write_sources(const KernelSource& source, KernelCache& cache,
                                     KernelLibrary& library) const {
  if (!cache.enabled()) return;
  const std::string stem = file_stem(source);
  library.source_path = cache.write_source(stem + ".cpp", source.cpp);
  if (!source.line_table.empty()) cache.write_source(stem + kKernelLinesSuffix, source.line_table);
  // What the kernel is written in lies beside it, for people who read or compile it by hand.
  cache.write_source(fmt::format("prelude_{}.h", to_hex(prelude_).substr(0, 16)), prelude_text());
}

}  // namespace

std::unique_ptr<Toolchain> make_toolchain(const ToolchainOptions& options) {
  std::vector<std::unique_ptr<ObjectCompiler>> compilers;
  if (options.kind != "subprocess") compilers.push_back(make_plugin_compiler(options.plugin_path));
  if (options.kind != "clang") compilers.push_back(make_subprocess_compiler(options.compiler));
  return std::make_unique<CachingToolchain>(std::move(compilers), options);
}

}  // namespace suture
