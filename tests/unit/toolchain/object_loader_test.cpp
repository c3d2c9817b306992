// Objects are loaded without a linker: what they compute, what they may call, and that nothing broken is trusted.
#include "toolchain/object_loader.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "kernel_harness.h"
#include "toolchain/compilers.h"

namespace suture {
namespace {

// Constants, a lookup table, a switch, static data that is written, imports of two kinds, a call between kernels.
constexpr const char* kText = R"(
static const double kTable[4] = {0.5, 1.5, 2.5, 3.5};
static int64_t calls = 0;
extern "C" uint32_t inner(void* const* buffers, const int64_t* sizes) {
  double* out = (double*)buffers[1];
  for (int64_t i = 0; i < sizes[0]; ++i) out[i] = fmod(out[i], 7.25) + kTable[i & 3];
  return 0;
}
extern "C" uint32_t outer(void* const* buffers, const int64_t* sizes) {
  const double* in = (const double*)buffers[0];
  double* out = (double*)buffers[1];
  for (int64_t i = 0; i < sizes[0]; ++i) {
    switch (i % 5) {
      case 0: out[i] = pow(in[i], 3.5); break;
      case 1: out[i] = in[i] * 0.1; break;
      case 2: out[i] = -in[i] + 1e300; break;
      case 3: out[i] = in[i] / 3.0; break;
      default: out[i] = 2.25;
    }
  }
  inner(buffers, sizes);
  out[sizes[0]] = (double)++calls;
  return 0;
}
)";

double expected(double x, int64_t i) {
  constexpr double kTable[4] = {0.5, 1.5, 2.5, 3.5};
  const double value[] = {std::pow(x, 3.5), x * 0.1, -x + 1e300, x / 3.0, 2.25};
  return std::fmod(value[i % 5], 7.25) + kTable[i & 3];
}

class ObjectLoader : public testing::Test {
 protected:
  void SetUp() override {
    if (!have_plugin()) GTEST_SKIP() << "built without LLVM";
    auto code = make_plugin_compiler(SUTURE_PLUGIN_PATH)->compile({"g", kText, {"outer"}, false});
    ASSERT_TRUE(code.ok()) << code.error().message;
    object = code->bytes;
  }
  std::string object;
};

TEST_F(ObjectLoader, a_kernel_computes_what_its_text_says) {
  auto library = load_object(object, {"outer", "inner"});
  ASSERT_TRUE(library.ok()) << library.error().message;
  std::vector<double> in(23), out(24);
  for (size_t i = 0; i < in.size(); ++i) in[i] = 1.25 * static_cast<double>(i) + 0.3;
  void* buffers[] = {in.data(), out.data()};
  const int64_t sizes[] = {23};
  for (double call = 1; call <= 3; ++call) {
    ASSERT_EQ((*library)->find("outer")(buffers, sizes), 0u);
    for (size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], expected(in[i], static_cast<int64_t>(i))) << i;
    EXPECT_EQ(out[23], call) << "data of the object keeps its value";
  }
  EXPECT_GT((*library)->code_bytes, 0u);
  EXPECT_EQ((*library)->find("none"), nullptr);
}

TEST_F(ObjectLoader, no_page_is_writable_and_executable) {
  auto library = load_object(object, {"outer"});
  ASSERT_TRUE(library.ok());
  const auto address = reinterpret_cast<uint64_t>((*library)->find("outer"));
  std::ifstream maps("/proc/self/maps");
  bool seen = false;
  for (std::string line; std::getline(maps, line);) {
    EXPECT_EQ(line.find("rwx"), std::string::npos) << line;
    uint64_t begin = 0, end = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx", &begin, &end), 2);
    if (begin <= address && address < end) {
      seen = true;
      EXPECT_NE(line.find(" r-xp "), std::string::npos) << line;
    }
  }
  EXPECT_TRUE(seen);
}

TEST_F(ObjectLoader, a_symbol_that_is_not_there_is_an_internal_error) {
  auto library = load_object(object, {"outer", "no_such_kernel"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, ErrorKind::kInternal);
}

TEST_F(ObjectLoader, only_functions_of_the_import_table_can_be_called) {
  const size_t at = object.find(std::string("\0fmod\0", 6));
  ASSERT_NE(at, std::string::npos);
  object.replace(at + 1, 4, "exit");
  auto library = load_object(object, {"outer"});
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.error().kind, ErrorKind::kInternal);
  EXPECT_THAT(library.error().message, testing::HasSubstr("kernels may not call 'exit'"));
}

TEST_F(ObjectLoader, an_object_cut_short_anywhere_is_refused) {
  for (size_t size = 0; size < object.size(); ++size)
    ASSERT_FALSE(load_object(std::string_view(object).substr(0, size), {"outer"}).ok()) << size;
}

TEST_F(ObjectLoader, altered_objects_are_refused_or_loaded_but_never_read_or_written_out_of_bounds) {
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string altered = object;
    for (int n = 0; n < 3; ++n) altered[random() % altered.size()] = static_cast<char>(random());
    refused += !load_object(altered, {"outer"}).ok();
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(ObjectLoader, another_machine_or_kind_of_file_is_left_to_the_other_loader) {
  Elf64_Ehdr header;
  for (int change = 0; change < 2; ++change) {
    std::string altered = object;
    std::memcpy(&header, altered.data(), sizeof header);
    change ? header.e_machine = EM_AARCH64 : header.e_type = ET_DYN;
    std::memcpy(altered.data(), &header, sizeof header);
    auto library = load_object(altered, {"outer"});
    ASSERT_FALSE(library.ok());
    EXPECT_EQ(library.error().kind, ErrorKind::kUnsupported);
  }
}

}  // namespace
}  // namespace suture
