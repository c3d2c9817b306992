// Files that appear whole, and the errors of making them.
#include "base/files.h"

#include <cerrno>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace suture {
namespace {

namespace fs = std::filesystem;

class Files : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("suture_files_test_" + std::to_string(getpid()));
    ASSERT_EQ(make_directories(path_.string()), 0);
    directory_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(directory_, 0);
  }
  void TearDown() override {
    close(directory_);
    fs::remove_all(path_);
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

  fs::path path_;
  int directory_ = -1;
};

TEST_F(Files, parts_are_one_private_file_and_replace_an_older_one) {
  const std::array<std::string_view, 2> parts = {"head", "body"};
  ASSERT_TRUE(write_atomically(directory_, "a.txt", parts).ok());
  EXPECT_EQ(text_of("a.txt"), "headbody");
  EXPECT_EQ(fs::status(path_ / "a.txt").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  const std::array<std::string_view, 1> shorter = {"x"};
  ASSERT_TRUE(write_atomically(directory_, "a.txt", shorter).ok());
  EXPECT_EQ(text_of("a.txt"), "x");
  EXPECT_EQ(entries(), 1u) << "no temporary file stays";
}

TEST_F(Files, a_file_that_cannot_get_its_name_leaves_nothing_behind) {
  ASSERT_EQ(make_directories((path_ / "taken" / "inside").string()), 0);
  const std::array<std::string_view, 1> parts = {"x"};
  const WriteResult result = write_atomically(directory_, "taken", parts);
  EXPECT_EQ(result.stopped, WriteStep::kWrite);
  EXPECT_EQ(result.error, EISDIR);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(Files, a_directory_that_is_gone_says_so_before_anything_is_written) {
  const fs::path gone = path_ / "gone";
  ASSERT_EQ(make_directories(gone.string()), 0);
  const int fd = open(gone.c_str(), O_RDONLY | O_DIRECTORY);
  fs::remove(gone);
  const std::array<std::string_view, 1> parts = {"x"};
  const WriteResult result = write_atomically(fd, "a.txt", parts);
  close(fd);
  EXPECT_EQ(result.stopped, WriteStep::kCreate);
  EXPECT_EQ(result.error, ENOENT);
}

TEST_F(Files, directories_are_private_and_may_exist) {
  const std::string deep = (path_ / "one" / "two" / "three").string();
  EXPECT_EQ(make_directories(deep), 0);
  EXPECT_EQ(make_directories(deep), 0);
  EXPECT_EQ(fs::status(path_ / "one").permissions(), fs::perms::owner_all);
  EXPECT_EQ(make_directories("/dev/null/x"), ENOTDIR);
}

TEST_F(Files, a_full_device_is_an_error_of_writing) {
  const int full = open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(write_all(full, "x"), ENOSPC);
  close(full);
}

}  // namespace
}  // namespace suture
