#include "bytecode/readable_exits.h"

#include <algorithm>
#include <set>

#include "bytecode/added_names.h"
#include "bytecode/instruction_editor.h"
#include "bytecode/output_names.h"

namespace suture {
namespace {

// What stands between a place and the RETURN_VALUE behind it only builds a tuple; -1: something else.
int returns_tuple(const InstructionEditor& edit, int i) {
  while (edit.is(i, Opcode::LOAD_CONST) || edit.is(i, Opcode::LOAD_GLOBAL) || edit.is(i, Opcode::LOAD_FAST) ||
         edit.is(i, Opcode::LOAD_DEREF) || edit.is(i, Opcode::LOAD_CLOSURE))
    ++i;
  return edit.is(i, Opcode::BUILD_TUPLE) && edit.is(i + 1, Opcode::RETURN_VALUE) ? i + 1 : -1;
}

// The handler takes the exception as the first item of the tuple that it returns.
bool returns_exception(const InstructionEditor& edit, const ExceptionRegion& region) {
  return !region.push_last_instruction && returns_tuple(edit, region.target) > region.target;
}

class ExceptionEnds {
 public:
  explicit ExceptionEnds(const Function& function) : edit_(function), names_(function.code) {}

  Function run(std::vector<int>& origin) {
    const std::vector<ExceptionRegion> regions = edit_.regions();
    for (const ExceptionRegion& region : regions)
      if (returns_exception(edit_, region)) {
        if (std::ranges::find(seen_, region.target) == seen_.end()) store(region.target);
        cover_ends(region);
      }
    return names_.put_into(edit_.result(origin));
  }

 private:
  void store(int handler) {
    seen_.push_back(handler);
    const int exception = names_.new_local("exception");
    edit_.replace(handler, {edit_.like(handler, Opcode::STORE_FAST, exception),
                            edit_.like(handler, Opcode::LOAD_FAST, exception), edit_.at(handler)});
  }

  // Ends that are reached from inside of this part of the statement.
  void cover_ends(const ExceptionRegion& region) {
    const int last = region.end == InstructionEditor::kEnd ? edit_.count() : region.end;
    for (int i = region.begin; i <= last && i < edit_.count(); ++i) {
      if (i < last && edit_.at(i).target >= 0) cover_end(edit_.at(i).target, region);
      if (i == last) cover_end(i, region);
    }
  }
  void cover_end(int begin, const ExceptionRegion& region) {
    if (edit_.is(begin, Opcode::JUMP_FORWARD)) begin = edit_.at(begin).target;
    const int end = returns_tuple(edit_, begin);
    if (end < 0 || begin == region.target || edit_.old().region_at(begin)) return;
    if (std::ranges::find(covered_, begin) != covered_.end()) return;
    covered_.push_back(begin);
    edit_.regions().push_back({begin, end, region.target, region.depth, false});
  }

  InstructionEditor edit_;
  AddedNames names_;
  std::vector<int> seen_;     // handlers
  std::vector<int> covered_;  // ends
};

}  // namespace

bool is_marker_constant(const CodeView& view, int constant) {
  const auto index = static_cast<size_t>(constant);
  return index < view.constant_reprs.size() && view.constant_reprs[index].starts_with("_K[");
}

Function variables_for_markers(const Function& continuation, std::vector<int>& origin) {
  InstructionEditor edit(continuation);
  std::set<int> removed;
  for (const ExceptionRegion& region : continuation.exception_regions) {
    const int load = region.begin, handler = region.target;
    const bool pushes_marker = region.end == load + 1 && edit.is(load, Opcode::LOAD_FAST) &&
                               edit.is(load + 1, Opcode::JUMP_FORWARD) &&
                               edit.at(load + 1).target == handler + 2 && edit.is(handler, Opcode::POP_TOP) &&
                               edit.is(handler + 1, Opcode::LOAD_CONST) &&
                               is_marker_constant(continuation.code, edit.arg(handler + 1));
    if (!pushes_marker) continue;
    for (const int place : {load + 1, handler, handler + 1}) edit.remove(place), removed.insert(place);
    std::erase_if(edit.regions(), [&](const ExceptionRegion& each) { return each.target == handler; });
  }
  AddedNames names(continuation.code);
  for (int i = 0; i < edit.count(); ++i)
    if (edit.is(i, Opcode::LOAD_CONST) && is_marker_constant(continuation.code, edit.arg(i)) &&
        !removed.contains(i))
      edit.replace(i, {edit.like(i, Opcode::LOAD_GLOBAL, names.global(kUnboundName))});
  return names.put_into(edit.result(origin));
}

Function ends_with_exceptions(const Function& continuation, std::vector<int>& origin) {
  return ExceptionEnds(continuation).run(origin);
}

}  // namespace suture
