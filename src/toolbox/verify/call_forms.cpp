#include "toolbox/verify/call_forms.h"

#include "bytecode/analysis.h"

namespace suture::toolbox {
namespace {

class Finder {
 public:
  explicit Finder(const CheckedFunction& checked)
      : checked_(checked),
        function_(checked.function),
        count_(static_cast<int>(function_.instructions.size())),
        // Each call is looked for separately; the limit keeps nested calls of hostile code from taking
        // quadratic time. What is not found counts as a different form.
        steps_left_(200 + 50 * static_cast<int64_t>(count_)) {
    forms_.is_method.resize(function_.instructions.size());
    forms_.drops_null.resize(function_.instructions.size());
    entered_.resize(function_.instructions.size());
    seen_.resize(function_.instructions.size(), -1);
    for (const Instruction& i : function_.instructions)
      if (i.target >= 0) entered_[static_cast<size_t>(i.target)] = true;
    for (const ExceptionRegion& region : function_.exception_regions)
      entered_[static_cast<size_t>(region.target)] = true;
  }

  CallForms find() {
    const bool null_first = function_.code.version <= PythonVersion{3, 12};
    for (int i = 0; i + 1 < count_; ++i) {
      if (checked_.depths[static_cast<size_t>(i)] < 0) continue;
      null_first ? match_null_first(i) : match_null_last(i);
    }
    return std::move(forms_);
  }

 private:
  const Instruction& at(int index) const { return function_.instructions[static_cast<size_t>(index)]; }
  // Control comes to `index` from the instruction before it only.
  bool follows(int index) const { return index < count_ && !entered_[static_cast<size_t>(index)]; }
  bool is_plain_attribute(int index) const { return follows(index) && is_attribute(index); }
  bool is_attribute(int index) const {
    const bool method_form = function_.code.version >= PythonVersion{3, 12} && (at(index).arg & 1) != 0;
    return at(index).opcode == Opcode::LOAD_ATTR && !method_form;
  }

  void match_null_first(int i) {
    int attribute = -1;
    if (at(i).opcode == Opcode::LOAD_GLOBAL && (at(i).arg & 1) != 0) {
      attribute = i + 1;
    } else if (at(i).opcode == Opcode::PUSH_NULL && follows(i + 1)) {
      const StackUse use = stack_use(function_.code.version, at(i + 1).opcode, at(i + 1).arg);
      const bool pushes_one = use.pops == 0 && use.pushes == 1 && at(i + 1).target < 0;
      if (pushes_one) attribute = i + 2;
    }
    if (attribute < 0 || !is_plain_attribute(attribute)) return;
    accept(attribute, i, attribute + 1);
  }

  void match_null_last(int i) {
    if (is_attribute(i) && follows(i + 1) && at(i + 1).opcode == Opcode::PUSH_NULL) accept(i, i + 1, i + 2);
  }

  void accept(int attribute, int null, int after) {
    if (after >= count_ || !is_called(after)) return;
    forms_.is_method[static_cast<size_t>(attribute)] = true;
    forms_.drops_null[static_cast<size_t>(null)] = true;
  }

  // The two values on top of the stack before `start` are taken by one call on every path.
  bool is_called(int start) {
    const int pair_end = checked_.depths[static_cast<size_t>(start)];
    std::vector<int> work{start};
    while (!work.empty()) {
      const int index = work.back();
      work.pop_back();
      if (seen_[static_cast<size_t>(index)] == start) continue;
      seen_[static_cast<size_t>(index)] = start;
      if (--steps_left_ < 0) return false;
      const Instruction& instruction = at(index);
      if (!handler_is_fine(index, pair_end, work)) return false;
      const StackUse use = stack_use(function_.code.version, instruction.opcode, instruction.arg);
      const int below = checked_.depths[static_cast<size_t>(index)] - use.pops;
      if (below < pair_end) {
        const bool prepares = instruction.opcode == Opcode::PRECALL;  // CALL follows
        const bool calls = instruction.opcode == Opcode::CALL || instruction.opcode == Opcode::CALL_KW;
        if (!(prepares || calls) || below != pair_end - 2) return false;
        if (prepares) work.push_back(index + 1);
        continue;
      }
      if (!ends_block(instruction.opcode)) work.push_back(index + 1);
      if (instruction.target >= 0) work.push_back(instruction.target);
    }
    return true;
  }

  bool handler_is_fine(int index, int pair_end, std::vector<int>& work) const {
    const ExceptionRegion* region = function_.region_at(index);
    if (region == nullptr || region->depth <= pair_end - 2) return true;
    work.push_back(region->target);
    return region->depth >= pair_end;
  }

  const CheckedFunction& checked_;
  const Function& function_;
  int count_;
  int64_t steps_left_;
  CallForms forms_;
  std::vector<bool> entered_;  // by a jump or an exception
  std::vector<int> seen_;      // the call that was looked for when the instruction was last visited
};

}  // namespace

CallForms find_call_forms(const CheckedFunction& checked) { return Finder(checked).find(); }

}  // namespace suture::toolbox
