// OutputWriter: the transformed function while it is written.
//
// Overview
//   Slots are numbered virtually: 0..n-1 are the locals of the original (so instructions of the original can
//   be copied as they are), temporaries and captured objects follow; finish() puts them into the order
//   CPython wants and renumbers.
// Values
//   push(recipe) leaves the object of a recipe on the stack. A recipe that is used more than once, or that
//   must be evaluated before Python code runs, is HELD: built once into a temporary. hold() must happen where
//   control always passes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bytecode/code_builder.h"
#include "bytecode/continuation.h"
#include "capture/capture.h"

namespace suture {

// A function over new code, with globals and module of `like`. Frames and tracebacks show the name of the
// user's function, because it is that function that runs; the function object has the name in `function.code`,
// for tools.
Result<PyRef> make_named_function(Function function, PyView constants, PyView like, PyView closure_or_null);

class OutputWriter {
 public:
  OutputWriter(const Capture& capture, PyView original_function, const std::string& name);

  CodeBuilder& code() { return code_; }
  const Capture& capture() const { return capture_; }
  const Function& original() const { return capture_.function; }
  PyView original_function() const { return function_; }
  const Recipe& recipe(RecipeId id) const { return capture_.recipes[static_cast<size_t>(id)]; }

  // Slots.
  int new_temporary(const std::string& name);
  void load(int slot) { code_.emit(Opcode::LOAD_FAST, slot); }
  void store(int slot) {
    code_.emit(Opcode::STORE_FAST, slot);
    stored_.insert(slot);
  }
  void use_as_cell(int local) { cells_used_.insert(local); }
  int free_slot(int closure_index) const;  // slot of a free variable of the original

  // Objects.
  void push_object(const PyRef& object,
                   const std::string& name);      // a constant, or a captured object called `name`
  void push_program_object(const PyRef& object);  // captured under a name like its own
  void push_int(int64_t number);
  void push_none();

  // Recipes.
  void count_use(RecipeId root);  // before anything is pushed: every root once per use
  int uses(RecipeId id) const { return uses_[static_cast<size_t>(id)]; }
  void set_graph_output(int index, int slot) { graph_outputs_[index] = slot; }
  bool graph_output_used(int index) const;
  Status push(RecipeId id);
  Status hold(RecipeId id);
  void overwrite(int local) {
    overwritten_.insert(local);
  }  // its slot will change: sources in it must be held first
  bool is_cell_object(RecipeId id) const;  // the recipe's value is the cell of a cell variable
  // The slot that push(id) loads, or -1.
  int slot_of(RecipeId id) const;
  // Slots with a value at this place of straight code, but for cells and slots that instructions of the original
  // use: parameters, then what was stored.
  std::vector<int> filled_slots() const;
  bool is_unbound(RecipeId id) const { return id < 0 || recipe(id).kind == Recipe::Kind::kUnbound; }

  Status push_source(SourceId id);
  Status push_cell_of(RecipeId id);  // the cell object, for closures and cell writes

  struct Made {
    PyRef function;
    Function code;
    std::vector<Recipe> entry_values;  // see OutputCode
  };
  Result<Made> finish();

 private:
  struct Slot {
    std::string name;
    uint8_t kind;
    bool parameter;
  };
  struct Captured {
    int slot;
    PyRef object;
  };
  struct EntryValue {
    Recipe recipe;
    int slot;
  };
  int add_constant(const PyRef& object);
  int captured_slot(const PyRef& object, const std::string& name);
  bool is_cheap(RecipeId id) const;
  Status build_once(RecipeId id);
  Status build(RecipeId id);
  Status build_function(const Recipe& recipe);
  Status build_sequence(const Recipe& recipe, Opcode opcode, int count);
  Status push_argument(RecipeId id);
  Status build_call(const PyRef& callable, const std::string& name, const std::vector<RecipeId>& arguments);
  Status push_symbolic(const Recipe& recipe);
  void push_entry_value(Recipe recipe, const std::string& text);
  SourceId source_of(const Recipe& recipe) const;  // kSource, kSymInt: the object it is, or kNoSource
  int entry_slot(const Recipe& recipe) const;      // of an argument or entry value, or -1
  void push_part(const char* attribute);
  void push_item(int index);
  std::vector<int> final_order() const;
  void name_after_variables(const std::vector<bool>& used);
  void renumber(Function& function);
  PyRef closure() const;

  const Capture& capture_;
  PyView function_;
  CodeBuilder code_;
  std::vector<Slot> slots_;
  std::vector<PyRef> constants_;
  std::vector<Captured> captured_;
  std::vector<EntryValue> entry_values_;
  std::vector<int> uses_;
  std::map<RecipeId, int> held_;
  std::map<int, int> graph_outputs_;
  std::set<int> overwritten_, cells_used_, stored_;
  std::set<RecipeId> building_;  // a recipe that needs itself cannot be built
};

}  // namespace suture
