// Toolchains: both compilers give working kernels, errors say what to do, the disk cache only ever saves
// time.
#include "toolchain/toolchain.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "kernel_harness.h"

namespace suture {
namespace {

namespace fs = std::filesystem;

struct ScratchDirectory {
  fs::path path;
  ScratchDirectory() {
    std::string name = (fs::temp_directory_path() / "suture-test-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~ScratchDirectory() {
    fs::permissions(path, fs::perms::owner_all);
    fs::remove_all(path);
  }
  std::vector<fs::path> files(const std::string& extension) const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().extension() == extension) found.push_back(entry.path());
    return found;
  }
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

ToolchainOptions options(const std::string& kind, const std::string& cache = "") {
  ToolchainOptions o;
  o.kind = kind;
  o.cache_dir = cache;
  o.plugin_path = SUTURE_PLUGIN_PATH;
  return o;
}

KernelSource add_one(const std::string& graph = "f_graph_0") {
  return {graph,
          "extern \"C\" uint32_t add_one(void* const* buffers, const int64_t* sizes) {\n"
          "  const double* a = (const double*)buffers[0];\n  double* out = (double*)buffers[1];\n"
          "  for (int64_t i = 0; i < sizes[0]; ++i) out[i] = op_add(a[i], 1.0);\n  return 0;\n}\n",
          {"add_one"},
          false};
}

double call(const KernelLibrary& library, double x) {
  double out = 0;
  void* buffers[] = {&x, &out};
  const int64_t sizes[] = {1};
  EXPECT_EQ(library.find("add_one")(buffers, sizes), 0u);
  return out;
}

class EveryToolchain : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (GetParam() == "clang" && !have_plugin()) GTEST_SKIP() << "built without LLVM";
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, EveryToolchain, testing::Values("clang", "subprocess"),
                         [](auto& i) { return i.param; });

TEST_P(EveryToolchain, CompilesAKernelThatRuns) {
  auto library = make_toolchain(options(GetParam()))->compile(add_one());
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_EQ(call(**library, 41.0), 42.0);
  EXPECT_FALSE((*library)->from_cache);
  EXPECT_GT((*library)->times.total(), 0.0);
  EXPECT_GT((*library)->code_bytes, 0u);
  EXPECT_EQ((*library)->find("no_such_kernel"), nullptr);
}

TEST_P(EveryToolchain, TwoLibrariesWithTheSameSymbolLiveSideBySide) {
  auto toolchain = make_toolchain(options(GetParam()));
  auto first = toolchain->compile(add_one());
  KernelSource other = add_one();
  other.cpp.replace(other.cpp.find("1.0"), 3, "2.0");
  auto second = toolchain->compile(other);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(call(**first, 1.0), 2.0);
  EXPECT_EQ(call(**second, 1.0), 3.0);
  second = std::unique_ptr<KernelLibrary>();  // unloading one leaves the other
  EXPECT_EQ(call(**first, 1.0), 2.0);
}

TEST_P(EveryToolchain, RejectedTextIsAnInternalErrorThatCarriesTheDiagnostics) {
  KernelSource broken = add_one();
  broken.cpp = "extern \"C\" uint32_t add_one(void* const*, const int64_t*) { return no_such_name; }\n";
  auto library = make_toolchain(options(GetParam()))->compile(broken);
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, ErrorKind::kInternal);
  EXPECT_THAT(library.error().message, testing::HasSubstr("no_such_name"));
}

TEST_P(EveryToolchain, AFunctionOutsideTheImportListDoesNotLink) {
  if (GetParam() != "clang") GTEST_SKIP() << "dlopen resolves against the process";
  KernelSource source = add_one();
  source.cpp =
      "extern \"C\" int system(const char*);\n"
      "extern \"C\" uint32_t add_one(void* const*, const int64_t*) { return system(\"true\"); }\n";
  auto library = make_toolchain(options(GetParam()))->compile(source);
  ASSERT_FALSE(library.ok());
  EXPECT_THAT(library.error().message, testing::HasSubstr("system"));
}

TEST_P(EveryToolchain, ASecondProcessWouldFindTheObjectOnDisk) {
  ScratchDirectory cache;
  {
    auto library = make_toolchain(options(GetParam(), cache.path))->compile(add_one());
    ASSERT_TRUE(library.ok()) << library.error().message;
    EXPECT_EQ((*library)->note, "");
  }
  auto library = make_toolchain(options(GetParam(), cache.path))->compile(add_one());
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_TRUE((*library)->from_cache);
  EXPECT_EQ((*library)->tool, "disk cache");
  EXPECT_EQ((*library)->times.frontend + (*library)->times.optimise + (*library)->times.codegen, 0.0);
  EXPECT_EQ(call(**library, 41.0), 42.0);
}

TEST_P(EveryToolchain, EveryFlippedByteAndEveryTruncationOfAnEntryIsAMiss) {
  ScratchDirectory cache;
  auto toolchain = make_toolchain(options(GetParam(), cache.path));
  ASSERT_TRUE(toolchain->compile(add_one()).ok());
  ASSERT_EQ(cache.files(".kernel").size(), 1u);
  const fs::path entry = cache.files(".kernel")[0];
  const std::string good = read(entry);
  std::vector<std::string> damaged = {"", good.substr(0, 10), good.substr(0, 88),
                                      good.substr(0, good.size() - 1), good + "x"};
  for (size_t at : {size_t{0}, size_t{9}, size_t{20}, size_t{50}, size_t{60}, size_t{88}, good.size() / 2,
                    good.size() - 1}) {
    damaged.push_back(good);
    damaged.back()[at] ^= 1;
  }
  for (const std::string& bytes : damaged) {
    write(entry, bytes);
    auto library = toolchain->compile(add_one());
    ASSERT_TRUE(library.ok()) << library.error().message;
    EXPECT_FALSE((*library)->from_cache) << bytes.size();
    EXPECT_EQ(call(**library, 1.0), 2.0);
    EXPECT_EQ(read(entry), good) << "a miss writes the entry anew";
  }
}

TEST_P(EveryToolchain, AnEntryUnderAnotherNameIsAMiss) {
  ScratchDirectory cache;
  auto toolchain = make_toolchain(options(GetParam(), cache.path));
  ASSERT_TRUE(toolchain->compile(add_one()).ok());
  KernelSource other = add_one();
  other.cpp.replace(other.cpp.find("1.0"), 3, "2.0");
  ASSERT_TRUE(toolchain->compile(other).ok());
  auto entries = cache.files(".kernel");
  ASSERT_EQ(entries.size(), 2u);
  fs::copy_file(entries[0], entries[1], fs::copy_options::overwrite_existing);
  EXPECT_EQ(call(**toolchain->compile(add_one()), 1.0), 2.0);
  EXPECT_EQ(call(**toolchain->compile(other), 1.0), 3.0);
}

// --- several graphs in one run of the compiler

KernelSource add(const std::string& amount) {
  KernelSource source = add_one();
  source.cpp.replace(source.cpp.find("1.0"), 3, amount);
  return source;
}

TEST_P(EveryToolchain, CompilesGraphsWithKernelsOfTheSameNameInOneRun) {
  ScratchDirectory cache;
  auto toolchain = make_toolchain(options(GetParam(), cache.path));
  const std::vector<KernelSource> sources = {add("1.0"), add("2.0"), add("3.0"), add("2.0")};
  ASSERT_TRUE(toolchain->compile_ahead(sources).ok());
  EXPECT_EQ(toolchain->compiler_runs(), 1);
  std::vector<std::unique_ptr<KernelLibrary>> libraries;
  for (const KernelSource& source : sources) {
    auto library = toolchain->compile(source);
    ASSERT_TRUE(library.ok()) << library.error().message;
    EXPECT_TRUE((*library)->from_cache);
    libraries.push_back(std::move(*library));
  }
  EXPECT_EQ(toolchain->compiler_runs(), 1);
  EXPECT_EQ(call(*libraries[0], 1.0), 2.0);
  EXPECT_EQ(call(*libraries[1], 1.0), 3.0);
  EXPECT_EQ(call(*libraries[2], 1.0), 4.0);
  EXPECT_EQ(libraries[0]->find("add_one_of_part_0"), nullptr) << "a part has the names it would have alone";
}

TEST_P(EveryToolchain, WhatIsInTheCacheIsNotCompiledAheadAndOneGraphIsLeftForItsTurn) {
  ScratchDirectory cache;
  auto toolchain = make_toolchain(options(GetParam(), cache.path));
  ASSERT_TRUE(toolchain->compile(add("1.0")).ok());
  ASSERT_TRUE(toolchain->compile_ahead(std::vector{add("1.0"), add("2.0")}).ok());
  EXPECT_EQ(toolchain->compiler_runs(), 1);
}

TEST_P(EveryToolchain, GraphsWithOtherFlagsAreCompiledInAnotherRun) {
  ScratchDirectory cache;
  auto toolchain = make_toolchain(options(GetParam(), cache.path));
  std::vector<KernelSource> sources = {add("1.0"), add("2.0"), add("3.0"), add("4.0")};
  sources[2].opt = sources[3].opt = 0;
  ASSERT_TRUE(toolchain->compile_ahead(sources).ok());
  EXPECT_EQ(toolchain->compiler_runs(), 2);
  for (const KernelSource& source : sources) EXPECT_TRUE((*toolchain->compile(source))->from_cache);
}

TEST_P(EveryToolchain, ARejectedGraphLeavesTheOthersForTheirOwnTurn) {
  ScratchDirectory cache;
  auto toolchain = make_toolchain(options(GetParam(), cache.path));
  const std::vector<KernelSource> sources = {add("1.0"), add("no_such_name"), add("3.0")};
  EXPECT_FALSE(toolchain->compile_ahead(sources).ok());
  EXPECT_EQ(call(**toolchain->compile(sources[0]), 1.0), 2.0);
  EXPECT_FALSE(toolchain->compile(sources[1]).ok());
  EXPECT_EQ(call(**toolchain->compile(sources[2]), 1.0), 4.0);
}

TEST_P(EveryToolchain, APartWhoseObjectIsGoneOrDamagedIsCompiledAlone) {
  for (const bool gone : {true, false}) {
    ScratchDirectory cache;
    auto toolchain = make_toolchain(options(GetParam(), cache.path));
    ASSERT_TRUE(toolchain->compile_ahead(std::vector{add("1.0"), add("2.0")}).ok());
    const auto entries = cache.files(".kernel");
    const fs::path whole =
        *std::ranges::max_element(entries, {}, [](auto& path) { return fs::file_size(path); });
    gone ? static_cast<void>(fs::remove(whole)) : write(whole, read(whole).substr(0, 500));
    auto library = toolchain->compile(add("2.0"));
    ASSERT_TRUE(library.ok()) << library.error().message;
    EXPECT_FALSE((*library)->from_cache);
    EXPECT_EQ(call(**library, 1.0), 3.0);
  }
}

TEST(Toolchain, WithoutACacheNothingIsCompiledAhead) {
  auto toolchain = make_toolchain(options("auto"));
  ASSERT_TRUE(toolchain->compile_ahead(std::vector{add("1.0"), add("2.0")}).ok());
  EXPECT_EQ(toolchain->compiler_runs(), 0);
}

TEST(Toolchain, WritesTheSourceBesideTheCacheUnderTheGraphsName) {
  ScratchDirectory cache;
  auto library = make_toolchain(options("auto", cache.path))->compile(add_one("Model.fit <lambda>_graph_0"));
  ASSERT_TRUE(library.ok()) << library.error().message;
  const fs::path path = (*library)->source_path;
  EXPECT_EQ(path.parent_path(), cache.path);
  EXPECT_THAT(path.filename().string(), testing::StartsWith("Model_fit__lambda__graph_0_"));
  EXPECT_EQ(path.extension(), ".cpp");
  EXPECT_EQ(read(path), add_one().cpp);
}

TEST(Toolchain, WithoutACacheDirectoryNothingIsWrittenAndNothingIsNoted) {
  auto library = make_toolchain(options("auto"))->compile(add_one());
  ASSERT_TRUE(library.ok());
  EXPECT_EQ((*library)->source_path, "");
  EXPECT_EQ((*library)->note, "");
}

TEST(Toolchain, AnUnusableCacheDirectoryIsNotedAndNeverAFailure) {
  ScratchDirectory scratch;
  write(scratch.path / "file", "");
  fs::create_directory(scratch.path / "shared");
  fs::permissions(scratch.path / "shared", fs::perms::all);
  fs::create_directory(scratch.path / "real");
  fs::create_directory_symlink(scratch.path / "real", scratch.path / "link");
  for (const char* name : {"file", "file/below", "shared", "link"}) {
    auto library = make_toolchain(options("auto", scratch.path / name))->compile(add_one());
    ASSERT_TRUE(library.ok()) << name << ": " << library.error().message;
    EXPECT_THAT((*library)->note, testing::HasSubstr((scratch.path / name).string()));
    EXPECT_EQ((*library)->source_path, "");
    EXPECT_EQ(call(**library, 1.0), 2.0);
  }
}

TEST(Toolchain, MakesTheCacheDirectoryPrivate) {
  ScratchDirectory scratch;
  const fs::path cache = scratch.path / "a" / "b";
  ASSERT_TRUE(make_toolchain(options("auto", cache))->compile(add_one()).ok());
  EXPECT_EQ(fs::status(cache).permissions(), fs::perms::owner_all);
}

TEST(Toolchain, AMissingCompilerSaysWhatToInstall) {
  ToolchainOptions o = options("subprocess");
  o.compiler = "no-such-compiler";
  auto library = make_toolchain(o)->compile(add_one());
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(library.error().message,
            "the compiler 'no-such-compiler' was not found; install one, for example: apt install g++");
}

TEST(Toolchain, AutoFallsBackToASubprocessWhenThePluginCannotBeLoaded) {
  ToolchainOptions o = options("auto");
  o.plugin_path = "/nonexistent/libsuture_toolchain.so";
  auto toolchain = make_toolchain(o);
  auto library = toolchain->compile(add_one());
  ASSERT_TRUE(library.ok()) << library.error().message;
  EXPECT_EQ(call(**library, 1.0), 2.0);
  EXPECT_EQ((*library)->tool, toolchain->name());
  EXPECT_THAT(toolchain->name(), testing::Not(testing::HasSubstr("in process")));
}

TEST(Toolchain, ClangAloneIsAnErrorWhenThePluginCannotBeLoaded) {
  ToolchainOptions o = options("clang");
  o.plugin_path = "/nonexistent/libsuture_toolchain.so";
  auto library = make_toolchain(o)->compile(add_one());
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(library.error().message, testing::HasSubstr("/nonexistent/libsuture_toolchain.so"));
}

}  // namespace
}  // namespace suture
