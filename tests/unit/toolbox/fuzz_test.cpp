// The fuzz targets on inputs from a fixed seed: real code objects with a few bytes changed, cut off, or moved.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "targets.h"

namespace suture::fuzz {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

// Made once by the interpreter of the tests.
const fs::path& corpus() {
  static const fs::path directory = [] {
    std::string name = (fs::temp_directory_path() / "suture-fuzz-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    const std::string command =
        std::string(SUTURE_TEST_PYTHON) + " -I " SUTURE_TEST_ROOT "/fuzz/make_corpus.py " + name;
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    return fs::path(name);
  }();
  return directory;
}

class FuzzTargets : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { fs::remove_all(corpus()); }

  void run(const char* target, void (*function)(std::string_view), int rounds) {
    std::vector<std::string> seeds;
    for (const auto& entry : fs::directory_iterator(corpus() / target))
      seeds.push_back(content(entry.path()));
    ASSERT_GE(seeds.size(), 8u);
    std::sort(seeds.begin(), seeds.end());
    std::mt19937 random(20240);
    for (const std::string& seed : seeds) function(seed);
    for (int round = 0; round < rounds; ++round) function(changed(seeds[random() % seeds.size()], random));
  }

 private:
  static std::string changed(std::string input, std::mt19937& random) {
    const auto place = [&] { return random() % input.size(); };
    for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
      switch (random() % 4) {
        case 0: input[place()] = static_cast<char>(random()); break;
        case 1: input[place()] = input[place()]; break;
        case 2: input.insert(place(), input, place(), random() % 8); break;
        default: input[place()] = static_cast<char>(input[place()] ^ 1 << random() % 8); break;
      }
    }
    if (random() % 16 == 0) input.resize(place() + 1);
    return input;
  }
};

TEST_F(FuzzTargets, MarshalledCode) { run("marshal", &marshal, 20'000); }
TEST_F(FuzzTargets, PycFiles) { run("pyc", &pyc, 10'000); }
TEST_F(FuzzTargets, Verifier) { run("verify", &verify, 20'000); }
TEST_F(FuzzTargets, Decompiler) { run("decompile", &decompile, 6'000); }

}  // namespace
}  // namespace suture::fuzz
