// JitDump: see profile_file.h.
#pragma once

#include <cstdint>
#include <string>

#include "toolchain/profile_file.h"

namespace suture {

class JitDump : public ProfileFile {
 public:
  explicit JitDump(std::string directory) : directory_(std::move(directory)) {}
  ~JitDump() override { JitDump::close(); }

 protected:
  std::string open() override;
  int append(const NamedCode& code) override;
  void close() override;
  std::string path() const override;

 private:
  std::string directory_;
  int file_ = -1;
  void* marker_ = nullptr;  // the mapping that perf sees
  uint64_t index_ = 0;      // of the next function
};

}  // namespace suture
