// ContinuationFrame: what resume and iteration functions have in common - a new frame layout for a part of a
// function.
//
//   ContinuationFrame frame(original, name, keep);
//   frame.add_parameter("stack_0"); frame.add_local_parameter(local);
//   frame.lay_out();
//   frame.begin(place, maybe_unbound);    // COPY_FREE_VARS, MAKE_CELL.., RESUME, marker tests
//   ... frame.code() ...                  // CodeBuilder
//   frame.copy_kept(label_of);            // the kept instructions, with locals renumbered
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bytecode/code_builder.h"
#include "bytecode/continuation.h"

namespace suture {

Status check_continuable(const Function& original);

class ContinuationFrame {
 public:
  ContinuationFrame(const Function& original, const std::string& name, std::vector<bool> keep);

  int add_parameter(const std::string& name);                // index of the parameter
  void add_local_parameter(int local, bool is_cell_itself);  // parameter for a local of the original
  void lay_out(int first_line);

  void begin(const Instruction& place, const std::vector<int>& maybe_unbound);
  void push_marker();
  void push_int(int64_t number);
  // Where a kept instruction's edge to `target` goes instead of the copy of `target`; -1: to the copy.
  using Redirect = std::function<CodeBuilder::Label(int target)>;
  // The region of a kept instruction, when it is not the copy of its own (kNoRegion: none).
  using RegionOf = std::function<std::optional<CodeBuilder::Region>(int index)>;
  void copy_kept(const Redirect& redirect, const RegionOf& region_of, int depth_shift);

  int slot(int local) const { return slot_[static_cast<size_t>(local)]; }
  CodeBuilder& code() { return builder_; }
  CodeBuilder::Label label(int index) { return labels_[static_cast<size_t>(index)]; }
  std::vector<AddedConstant> take_constants() { return std::move(constants_); }

 private:
  int constant(AddedConstant constant, std::string printed);
  void drop_if_unbound(int local);
  Instruction renumbered(Instruction instruction) const;
  CodeBuilder::Label edge(const Redirect& redirect, int target);
  CodeBuilder::Region region_for(const ExceptionRegion& region, int depth_shift);

  const Function& original_;
  std::vector<bool> keep_;
  std::vector<int> slot_;          // original local -> new local, -1: not there
  std::vector<bool> parameter_;    // per original local
  std::vector<bool> cell_itself_;  // per original local
  CodeBuilder builder_;
  std::vector<CodeBuilder::Label> labels_;  // per original instruction
  std::vector<AddedConstant> constants_;
  std::vector<int> constant_indices_;
  std::vector<std::pair<const ExceptionRegion*, CodeBuilder::Region>> regions_;
};

}  // namespace suture
