// DumpDirectory: files of one dump on disk.
//
// Invariants
//   - A file appears complete: written under a temporary name in its directory, then renamed. What could not be written
//   leaves nothing behind.
//   - Everything is private to the user (0700, 0600), symbolic links inside the dump are not followed, and names are made
//   by safe_name: nothing that a program or a trace says can lead out of the directory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace suture::toolbox {

class DumpDirectory {
 public:
  DumpDirectory() = default;
  DumpDirectory(const DumpDirectory&) = delete;
  DumpDirectory& operator=(const DumpDirectory&) = delete;
  ~DumpDirectory();

  // Makes `path` (and its parents) and opens it. "" or why not.
  std::string open(const std::string& path);
  // "" or why not. `directory`: "" the dump's own, else one below it, which is made.
  std::string write(const std::string& directory, const std::string& name, std::string_view text);
  std::string make(const std::string& directory);
  void remove(const std::string& name);  // of the dump's own files

 private:
  int fd_ = -1;
};

// Letters, digits, '_' and '-' only, at most 60 characters, never empty: `f` of "outer.<locals>.f".
std::string safe_name(std::string_view qualified_name);

}  // namespace suture::toolbox
