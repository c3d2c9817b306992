// Continuations of the transformed function: what happens after the part that ran in Python.
//
//   plan(target, stack, locals)   follows the code at `target` as long as it only moves values: a trailing
//   `return value` is
//                                 done in place, leading POP_TOP and STORE_FAST are applied to the plan.
//                                 Otherwise a resume function is made for what is left.
//   hold(plan)                    evaluates what the plan needs, before Python code can change it
//   emit(plan)                    return __resume_at_..(..), as a tail call (cpython/tail_call.h)
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "capture/output_bytecode.h"
#include "capture/output_writer.h"

namespace suture {

// A value at a continuation.
struct Item {
  enum class Kind : uint8_t {
    kRecipe,    // id: RecipeId
    kSlot,      // id: slot of the transformed function
    kClosure,   // id: slot of a cell variable; the cell itself
    kContents,  // id: slot of a cell variable; what is in it
    kConstant,  // id: index into the original's co_consts
    kInt,       // id: the number
    kNull,
  } kind = Kind::kRecipe;
  int id = -1;
  bool is_cell = false;        // the value is the cell of a cell variable
  bool maybe_unbound = false;  // may be the unbound marker
};

struct ContinuationPlan {
  std::optional<Item> returned;  // `return item`, or:
  std::string resume_name;
  PyRef resume;  // the callable
  std::vector<Item> arguments;
};

class Continuations {
 public:
  Continuations(OutputWriter& writer, const MakeCallable& make_callable);

  // Locals without an entry are unbound. Cell variables: the cell itself (is_cell) or the contents.
  Result<ContinuationPlan> plan(int target, std::vector<Item> stack, std::map<int, Item> locals);
  Status hold(const ContinuationPlan& plan);
  // `emptied`: a slot that this frame does not keep while the continuation runs, or -1.
  Status emit(const ContinuationPlan& plan, int emptied = -1);
  Status push(const Item& item);

  // Wraps a continuation function; its name goes to names().
  Result<PyRef> make(const Function& function, const std::vector<AddedConstant>& added, FrameKind kind);
  std::string new_name(const std::string& prefix, int at);
  const std::vector<std::string>& names() const { return names_; }
  // Item of a local from its recipe at the end of the captured part; none when it is unbound.
  std::optional<Item> local_item(int local) const;

 private:
  struct Walk {
    int at;
    std::vector<Item> stack;
    std::map<int, Item> locals;
  };
  bool step(Walk& walk, bool loads) const;
  std::optional<Item> returned_at_once(Walk walk) const;
  bool is_kept(int local, const Item& item) const;
  Status check_cells(const Walk& walk) const;

  OutputWriter& writer_;
  const MakeCallable& make_callable_;
  std::vector<std::vector<bool>> live_;
  std::vector<std::string> names_;
  int next_number_ = 2;  // 1 is the compiled graph
};

}  // namespace suture
