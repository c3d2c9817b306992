// The inside of dispatch_loop: what the stack holds, what a node is inside of, and the machine that turns instructions into
// statements.
//
// How it works
//   A node is a stretch of instructions that runs from one place, inside one chain of statements (its context). Contexts come
//   from the stack and the exception table, as the compiler of Python makes them: an iterator on the stack is a `for`, an exit
//   function a `with`, a saved exception an `except` clause, a region of the exception table a `try`. Inside one context,
//   control goes from node to node by `_pc`; a node that goes on in an outer context leaves the loops between by `break`.
//   Only `try` contexts can be entered in the middle; the others begin with their header.
//   Values are expressions that wait on a symbolic stack until something uses them. Before any statement, all waiting ones go
//   into `_s` locals in the order of the stack, so evaluation order is that of the bytecode.
//   Bodies of modules and classes have no locals: there, `_pc` and the `_s` are names like all others, set before the loop and
//   deleted behind it, where every way that ends the body arrives. What the compiler adds to a class body at both ends
//   (`__qualname__`, `__classcell__`, ...) it adds to the text as well.
// Invariant: between nodes, the value at depth i is in `_s<i>`.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "toolbox/decompile/dispatch_loop.h"
#include "toolbox/decompile/lift.h"
#include "toolbox/decompile/regions.h"

namespace suture::toolbox::dispatch {

enum class SlotKind : uint8_t {
  kValue,
  kNull,           // the empty slot of a call
  kSelf,           // the slot of a method's object; the callable below is the attribute
  kNothing,        // a result that is only dropped
  kCell,           // for a closure
  kNamespace,      // of a class body, where the next instruction looks first
  kBuildClass,     // __build_class__
  kDefinition,     // a function, class or type alias on its way to its name
  kLate,           // an expression that is evaluated late
  kGeneric,        // what makes a definition that has type parameters
  kComprehension,  // waits for its first iterable
  kIterable,       // iter(expression), which the `for` that follows will call
  kAssertion,      // AssertionError of an assert statement
  kEntered,        // what __enter__ gave
  kLasti,
  kException,  // the exception being handled
  // Marks: what is above belongs to statements inside. `id` says which.
  kIterator,
  kExit,
  kPrevious,
};

struct Slot {
  SlotKind kind = SlotKind::kValue;
  syntax::Expression* expr = nullptr;
  bool waits = false;    // has yet to be evaluated, in its turn
  bool display = false;  // built here, may grow
  bool plain = false;    // a callee that is no method, whatever it looks like
  bool awaited = false;  // kComprehension: the await that follows is the compiler's
  int id = -1;           // of marks, see above; kNull: the node that has pushed it
  int restores = 0;      // variables that an inlined comprehension restores behind it
  int conversion = -1;   // 3.13: CONVERT_VALUE waits for FORMAT
  std::set<int> uses;    // the `_s` that occur in expr
  syntax::Statement* definition = nullptr;
  std::string name;  // kPrevious: of the clause
  CodeTreePtr code;  // kGeneric
};
using Slots = std::vector<Slot>;

struct Context {
  enum class Kind : uint8_t { kCode, kFor, kTry, kWith, kHandler };
  Kind kind = Kind::kCode;
  int id = 0;  // kFor, kWith: the node it begins in; kTry: region; kHandler: clause
  Context* parent = nullptr;
  int level = 0;
  std::vector<int> nodes;
  std::vector<Context*> children;
  std::set<int> exits;      // nodes that are gone to from inside but lie outside
  int first = 0, last = 0;  // numbers of the nodes in it and below: [first, last)
};

enum class Tail : uint8_t { kNone, kFor, kWith };

struct DispatchNode {
  int start = 0;  // lifted instruction
  Context* context = nullptr;
  Slots entry;
  syntax::Statements body;
  Tail tail = Tail::kNone;
  bool is_async = false;
  syntax::Expression* subject = nullptr;  // iterable or manager
  syntax::Expression* target = nullptr;
  Context* inside = nullptr;     // context of the tail's body
  int inside_node = -1;          // where it begins
  syntax::Statements otherwise;  // kFor: exhausted; kWith: an exception was swallowed
  bool can_swallow = false;
  int number = 0;  // its `_pc`
};

struct Clause {
  syntax::Expression* type = nullptr;  // null: bare
  std::string name;
  int node = -1;
  Context* context = nullptr;
};

class Machine {
 public:
  Machine(const CodeTree& code, const Surroundings& around, const NestedDefinition& nested,
          syntax::SyntaxTree& tree, LoopForm form, bool keep_constants)
      : code_(code),
        class_name_(around.class_name),
        hidden_globals_(around.variables),
        nested_(nested),
        tree_(tree),
        form_(form),
        keep_constants_(keep_constants) {}
  Result<DispatchLoop> run();
  bool differ() const { return differ_; }  // ways that join had different values

 private:
  friend class FlagFlow;
  // ---- nodes and contexts (dispatch_loop.cpp)
  bool is_function() const { return (code_.view.flags & kCodeOptimized) != 0; }
  void choose_names();
  void find_leaders();
  int reach(int index);
  void explore();
  void run_node(int node);
  Context* context_for(const Slots& slots, int instruction);
  Context* intern(Context::Kind kind, int id, Context* parent);
  int node_at(int instruction, Slots slots);
  void go(int instruction, Slots slots, Context* from, syntax::Statements& out);
  void settle(Slots& slots, int instruction, syntax::Statements& out);
  bool stays_constant(const Slots& slots, size_t depth, int instruction) const;
  bool same_shape(const Slots& a, const Slots& b) const;
  void fail(const std::string& what);
  bool failed() const { return !error_.empty(); }
  std::string synthetic(const std::string& name) const { return name + suffix_; }
  syntax::Expression* slot_name(int depth);

  // ---- handlers (dispatch_handlers.cpp)
  struct StarClause {
    int next = -1;        // where the next clause begins, or the end
    size_t previous = 0;  // depth of the saved exception
    int end = -1;         // PREP_RERAISE_STAR
    int behind = -1;      // the statement, where that finds nothing to raise
    size_t depth = 0;     // of the stack there
  };
  void explore_handler(Context* context, int region, const Slots& slots);
  int explore_clause(Context* context, int begin, size_t previous, bool star);
  int read_clause_type(int begin, Op check);
  int behind_list(int at) const;
  int star_end(int at) const;
  void end_star_clauses(Context* context, const Slots& slots, size_t depth);
  const StarClause* end_of_clause(int at, const Slots& slots) const;

  // ---- patterns (dispatch_patterns.cpp)
  bool match_statement(const LiftedInstruction& it);
  void match_alone(const LiftedInstruction& it);

  // ---- bodies of modules and classes (dispatch_bodies.cpp)
  bool stores_name(int index, std::string_view name) const;
  void skip_prologue();
  void skip_module_prologue();
  void skip_class_prologue();
  bool at_end_of_body(int index) const;
  void end_body(Context* from, syntax::Statements& out);
  void wrap_body(syntax::Statements& body);

  // ---- the text (dispatch_text.cpp)
  void number_nodes(Context* context, int& next);
  syntax::Statements dispatch(Context* context);
  syntax::Statements arm(const DispatchNode& node);
  syntax::Statements try_statement(Context* context);
  syntax::Statement* go_on_behind_star(Context* context);
  void leave_after(Context* inner, Context* around, syntax::Statements& out);
  void leave_after(const std::set<int>& exits, Context* around, syntax::Statements& out);
  struct Arm {
    int first = 0, last = 0;
    syntax::Statements body;
  };
  syntax::Statements choose(std::vector<Arm>& arms, size_t begin, size_t end);
  syntax::Expression* pc_test(int first, int last);
  syntax::Statement* set_pc(int node);
  syntax::Expression* pc() { return make<syntax::Name>(pc_name_); }
  syntax::Expression* integer(int value) { return make<syntax::Constant>(Constant::number(value)); }
  void add_declarations(syntax::Statements& body);
  void add_unused_free_variables();
  syntax::Statements unmade_definitions();
  syntax::Expressions uncaptured_cells();

  // ---- instructions (dispatch_instructions.cpp, dispatch_calls.cpp)
  bool execute(const LiftedInstruction& it);  // false: the node ends
  bool execute_stack(const LiftedInstruction& it);
  bool execute_load(const LiftedInstruction& it);
  bool execute_operator(const LiftedInstruction& it);
  bool execute_display(const LiftedInstruction& it);
  bool execute_text(const LiftedInstruction& it);
  bool execute_store(const LiftedInstruction& it);
  bool execute_call(const LiftedInstruction& it);
  bool execute_definition(const LiftedInstruction& it);
  bool execute_exception(const LiftedInstruction& it);
  bool ends_node(const LiftedInstruction& it);  // branch, loop, return, raise: true when it was one of them
  int threaded_target(const LiftedInstruction& jump) const;
  void branch(const LiftedInstruction& it);
  syntax::Expression* read_target(int& at, int region);
  void for_loop(const LiftedInstruction& it);
  void with_statement(const LiftedInstruction& it);
  void import(const LiftedInstruction& it);
  void import_from(const LiftedInstruction& it, const std::string& module, int level);

  void push(syntax::Expression* expr, std::set<int> uses = {}, bool waits = true);
  void push_kind(SlotKind kind);
  Slot pop();
  bool is_class_body() const;
  Slot operand();  // pops an expression
  std::vector<Slot> operands(int count);
  syntax::Expression* in_local(syntax::Expression* constant, std::set<int>& uses);
  void keep_apart(syntax::Expressions& elements, int fewest, std::set<int>& uses);
  static syntax::Expressions expressions(const std::vector<Slot>& slots, std::set<int>& uses);
  syntax::Expression* without_slices(syntax::Expression* expr);
  syntax::Statement* assign(int local, Slot& slot);
  void spill(size_t depth, const std::set<int>& reserved);
  void spill_all(const std::set<int>& reserved = {});
  void emit(syntax::Statement* statement, const std::set<int>& uses = {});
  void store(syntax::Expression* target, const std::set<int>& uses, Slot value);
  void store_definition(syntax::Expression* target, Slot value);
  void name_definition(Slot& slot);  // gives it a name of its own, so that it can be used as a value
  void call(int count, const Constant* names);
  void call_value(Slot callee, std::vector<Slot> args, std::vector<syntax::Keyword> keywords);
  void call_ex(bool has_keywords);
  void call_generic(const Slot& callee, const std::vector<Slot>& args);
  bool swaps_for_generic() const;
  bool is_value_of_alias() const;
  void type_alias();
  void build_class(std::vector<Slot>& args, std::vector<syntax::Keyword> keywords);
  void make_function(int flags);
  void note_stores(const CodeTree& comprehension);
  void set_function_attribute(Slot& function, int flag, const Slot& value);
  void unpack(int before, int after);
  void inlined_comprehension();  // dispatch_comprehensions.cpp
  // dispatch_branches.cpp
  Result<syntax::Expression*> returned_value(const LiftedCode& stretch, const CodeTree& code,
                                             const std::map<std::string, syntax::Expression*>& arguments);
  bool is_under_construction(const Slot& slot) const;
  int tested_values(int at) const;
  int join_of(int start, int& last);
  bool fold_branches(bool needed);
  LiftedCode cut_out(int first, int join) const;
  static void put_in_front(LiftedCode& code, LiftedInstruction instruction);
  void grow(const LiftedInstruction& it);
  bool is_folded_display(const syntax::Expression* display, const Constant* constant) const;
  bool is_chunk(const syntax::Dict& dict, const syntax::Dict& more, bool of_call) const;
  bool names_arguments(const syntax::Dict& dict) const;
  syntax::Expressions elements_of(const syntax::Expression* expr);
  void drop(Slot value);

  template <class Node, class... Fields>
  Node* make(Fields&&... fields) {
    return tree_.make<Node>(std::forward<Fields>(fields)...);
  }
  bool is_free(int local) const;
  std::string stored_name(const LiftedInstruction& it);  // of what is_store; declares it
  std::string local_name(int index);
  std::string name(int index);
  const Constant* constant_of(const syntax::Expression* expr) const;

  const CodeTree& code_;
  const std::string class_name_;
  const std::set<std::string> hidden_globals_;
  const NestedDefinition& nested_;
  syntax::SyntaxTree& tree_;
  const LoopForm form_;
  const bool keep_constants_;  // across nodes
  bool differ_ = false;
  LiftedCode lifted_;
  Regions regions_;
  std::vector<bool> is_leader_;
  std::string suffix_, pc_name_;
  std::deque<DispatchNode> nodes_;
  size_t kept_slots_ = 0;  // in the entries of nodes
  std::deque<Context> contexts_;
  std::map<std::tuple<Context::Kind, int, Context*>, Context*> interned_;
  std::map<std::pair<int, Context*>, int> node_of_;
  std::map<Context*, std::vector<Clause>> clauses_;     // of try contexts
  std::map<int, StarClause> star_clauses_;              // of `except*`, by clause
  std::map<Context*, syntax::Statements> behind_star_;  // of try contexts: when all was handled
  std::vector<int> work_;
  std::vector<std::pair<syntax::Constant*, int>> pc_values_;  // to be numbered
  std::set<std::string> synthetic_, globals_, nonlocals_;
  std::set<std::string> hidden_;  // variables of inlined comprehensions
  std::set<std::string> used_;    // locals that statements use
  std::set<std::string> stored_;  // locals that statements store or delete
  bool yields_ = false;
  std::set<const void*> completed_;  // classes with their bases, comprehensions with their iterables
  std::map<const syntax::Expression*, Slot> class_bodies_;  // by what stands for them in displays
  int next_spare_ = 0;                                      // `_s` beyond every depth
  int next_clause_ = 0;
  int entry_ = 0;  // node in which the code begins
  int end_ = -1;   // node in which the body of a module or class ends, once there is one
  bool has_annotations_ = false;
  int steps_left_ =
      3'000'000;  // of reading patterns and looking for joins, for code that repeats them without end
  syntax::Statements first_statements_;  // of a module, before the loop

  // the node under way
  int node_ = -1;
  int at_ = -1;
  Slots slots_;
  syntax::Statements* out_ = nullptr;
  std::string error_;
};

}  // namespace suture::toolbox::dispatch
