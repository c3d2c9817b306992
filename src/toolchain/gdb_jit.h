// gdb's interface for code that a process makes itself: a list of objects in memory, and a function in which gdb has a
// breakpoint. Costs nothing unless gdb is attached, but for the copy of the object.
#pragma once

#include <memory>
#include <string>

namespace suture {

// An ELF object that debuggers know of while this lives. The addresses of its section headers tell where its sections are.
class GdbObject {
 public:
  explicit GdbObject(std::string object);
  GdbObject(const GdbObject&) = delete;
  GdbObject& operator=(const GdbObject&) = delete;
  ~GdbObject();

 private:
  struct Entry;
  std::unique_ptr<Entry> entry_;
};

}  // namespace suture
