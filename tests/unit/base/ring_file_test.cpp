// RingFile: records that outlive their process, bounded, and read back from whatever is left.
#include "base/ring_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

namespace suture {
namespace {

namespace fs = std::filesystem;

class RingFiles : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("suture_ring_file_test_" + std::to_string(getpid()));
    fs::remove_all(path_);
  }
  void TearDown() override { fs::remove_all(path_); }

  // Runs `body` in a process that ends without handlers.
  void in_child(const std::function<void()>& body) const {
    const pid_t child = fork();
    if (child == 0) {
      body();
      _exit(0);
    }
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
  std::string only_file() const {
    const auto names = ring_files(path_);
    EXPECT_EQ(names.size(), 1u);
    return names.empty() ? "" : path_ / names[0];
  }

  fs::path path_;
};

std::vector<std::string_view> no_data() { return {}; }

TEST_F(RingFiles, what_was_begun_and_not_ended_is_open) {
  in_child([&] {
    RingFile file(path_, "about", 1 << 20);
    const auto first = file.begin("first", no_data());
    const std::vector<std::string_view> data = {"da", "ta"};
    file.begin("second", data);
    file.end(first);
  });
  const RingContents found = read_ring_file(only_file());
  EXPECT_EQ(found.problem, "");
  EXPECT_EQ(found.about_process, "about");
  EXPECT_FALSE(found.alive);
  ASSERT_EQ(found.records.size(), 2u);
  EXPECT_EQ(found.records[0].facts, "first");
  EXPECT_FALSE(found.records[0].open);
  EXPECT_EQ(found.records[1].facts, "second");
  EXPECT_TRUE(found.records[1].open);
  std::ifstream file(only_file(), std::ios::binary);
  file.seekg(static_cast<std::streamoff>(found.records[1].data_offset));
  std::string data(found.records[1].data_bytes, ' ');
  file.read(data.data(), static_cast<std::streamsize>(data.size()));
  EXPECT_EQ(data, "data");
}

TEST_F(RingFiles, a_living_process_is_told_from_a_dead_one_and_its_children_do_not_keep_it_alive) {
  int ready[2], stop[2];
  ASSERT_EQ(pipe(ready) | pipe(stop), 0);
  const pid_t child = fork();
  if (child == 0) {
    RingFile file(path_, "", 1 << 20);
    file.begin("x", no_data());
    if (fork() == 0) {  // outlives its parent
      char byte;
      close(stop[1]);
      [[maybe_unused]] auto n = read(stop[0], &byte, 1);
      _exit(0);
    }
    [[maybe_unused]] auto n = write(ready[1], "r", 1);
    pause();
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_TRUE(read_ring_file(only_file()).alive);
  EXPECT_EQ(read_ring_file(only_file()).pid, child);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_FALSE(read_ring_file(only_file()).alive);
  for (int fd : {ready[0], ready[1], stop[0], stop[1]}) close(fd);
}

TEST_F(RingFiles, the_file_is_bounded_and_keeps_the_newest) {
  const std::string facts(1000, 'f');
  in_child([&] {
    RingFile file(path_, "", 16 << 10);
    for (int i = 0; i < 500; ++i) {
      const auto ticket = file.begin(facts + std::to_string(i), no_data());
      if (i != 499) file.end(ticket);
    }
  });
  EXPECT_LE(fs::file_size(only_file()), (16u << 10) + 4096u);
  const RingContents found = read_ring_file(only_file());
  ASSERT_GT(found.records.size(), 8u);
  EXPECT_EQ(found.records.back().facts, facts + "499");
  for (size_t i = 0; i + 1 < found.records.size(); ++i) {
    EXPECT_FALSE(found.records[i].open);
    EXPECT_EQ(found.records[i].serial + 1, found.records[i + 1].serial);
  }
}

TEST_F(RingFiles, the_end_of_a_record_that_was_overwritten_changes_nothing) {
  in_child([&] {
    RingFile file(path_, "", 16 << 10);
    const auto outer = file.begin("outer", no_data());
    for (int i = 0; i < 40; ++i) file.begin(std::string(900 + i, 'x'), no_data());
    file.end(outer);
  });
  for (const RingRecord& record : read_ring_file(only_file()).records) EXPECT_TRUE(record.open);
}

TEST_F(RingFiles, what_is_too_large_is_not_written) {
  RingFile file(path_, "", 16 << 10);
  EXPECT_FALSE(file.begin(std::string(8 << 10, 'x'), no_data()));
  EXPECT_TRUE(file.begin("small", no_data()));
  EXPECT_EQ(file.trouble(), "");
}

TEST_F(RingFiles, a_process_that_ends_by_itself_removes_its_file) {
  RingFile file(path_, "", 1 << 20);
  const auto ticket = file.begin("x", no_data());
  file.finish();
  EXPECT_EQ(ring_files(path_).size(), 1u) << "a record is open";
  file.end(ticket);
  file.finish();
  EXPECT_TRUE(ring_files(path_).empty());
}

TEST_F(RingFiles, files_and_directory_belong_to_the_user_alone) {
  RingFile file(path_, "", 1 << 20);
  file.begin("x", no_data());
  struct stat found{};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  ASSERT_EQ(stat(file.path().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);

  fs::permissions(path_, fs::perms::all);
  RingFile other(path_, "", 1 << 20);
  EXPECT_FALSE(other.begin("x", no_data()));
  EXPECT_EQ(other.trouble(), "the directory is not the user's own: Operation not permitted");
}

TEST_F(RingFiles, a_sweep_leaves_the_living_and_the_newest_with_something_open) {
  RingFile alive(path_, "", 1 << 20);
  alive.begin("alive", no_data());
  for (int i = 0; i < 4; ++i)
    in_child([&] {
      RingFile file(path_, "", 1 << 20);
      const auto ticket = file.begin("dead", no_data());
      if (i == 0) file.end(ticket);
    });
  ASSERT_EQ(ring_files(path_).size(), 5u);
  EXPECT_EQ(sweep_ring_files(path_, 2), 2u);
  EXPECT_EQ(ring_files(path_).size(), 3u);
  EXPECT_TRUE(fs::exists(alive.path()));
}

}  // namespace
}  // namespace suture
