// Symbolic execution: blocks in, a flow graph of statements out.
//
// Blocks are run in reverse post-order, each from the stack its predecessors leave. Loads and operators build expressions on
// the stack; stores, deletions and dropped values make statements. Where stacks differ, control has computed one value on
// several ways, and conditions.cpp folds these ways into one expression. A failure is remembered and ends the run; the first one counts.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "toolbox/decompile/blocks.h"
#include "toolbox/decompile/flow_graph.h"
#include "toolbox/decompile/lift.h"
#include "toolbox/decompile/match_patterns.h"
#include "toolbox/decompile/regions.h"
#include "toolbox/decompile/scope.h"

namespace suture::toolbox {

struct Evaluated {
  FlowGraph graph;
  std::deque<Value> values;  // what the graph's stacks point to
  std::deque<Context> contexts;
  std::set<const syntax::Expression*> assertion_errors;  // names that only `assert` loads
  std::set<std::string> globals, nonlocals;              // to be declared
  std::set<std::string> loaded_globals;
  bool has_annotations = false;  // SETUP_ANNOTATIONS
  bool annotates = false;
  // By index of the variable: what stores, deletes and loads it, apart from an inlined comprehension that hides it.
  std::vector<bool> bound, loaded;
  Value* returned = nullptr;  // by the function that makes a generic definition
};

class Evaluator {
 public:
  Evaluator(Builder& builder, const Scope& scope, const LiftedCode& code, const Regions& regions,
            const Blocks& blocks, const std::vector<MatchedCase>& cases);
  Result<Evaluated> run();

 private:
  // ---- driver (evaluate.cpp)
  void run_block(int block);
  void add_unused_free_variables();
  bool enter_block(int block);  // merges the stacks; false: nothing leads here
  void run_instructions(const Block& block);
  void note_place(const Block& block);
  void begin_node(int node, int block);
  void run_entry_block(int block);
  int split_node(const LiftedInstruction& at, int region);
  void finish(End end, int yes, int no = -1);
  void connect(int from, bool no_edge);
  const Context* context_for(const Stack& stack, int region);
  const Context* intern(Context::Kind kind, int id, const Context* parent);
  bool can_continue(int block, const FlowNode& before) const;
  void fail(const std::string& what);
  bool failed() const { return !error_.empty(); }

  // ---- merging ways to a value (evaluate_merge.cpp)
  bool merge_stacks(int block);  // false: the block has been dealt with
  bool ends_soon(int block) const;
  void run_separately(int block);

  // ---- instructions
  void execute(const LiftedInstruction& it);
  bool execute_stack(const LiftedInstruction& it);  // evaluate.cpp
  bool execute_load(const LiftedInstruction& it);   // evaluate_expressions.cpp
  bool execute_operator(const LiftedInstruction& it);
  bool execute_attribute(const LiftedInstruction& it);
  bool execute_display(const LiftedInstruction& it);  // evaluate_displays.cpp
  bool execute_growth(const LiftedInstruction& it);
  bool execute_text(const LiftedInstruction& it);
  bool execute_call(const LiftedInstruction& it);  // evaluate_calls.cpp
  bool execute_definition(const LiftedInstruction& it);
  bool execute_import(const LiftedInstruction& it);  // evaluate_stores.cpp
  bool execute_store(const LiftedInstruction& it);
  bool execute_delete(const LiftedInstruction& it);
  bool execute_exception(const LiftedInstruction& it);  // evaluate_control.cpp
  bool execute_control(const LiftedInstruction& it);

  // ---- values
  Value* make_value(ValueKind kind, syntax::Expression* expr = nullptr);
  Value* push(ValueKind kind, syntax::Expression* expr = nullptr);
  void push_expr(syntax::Expression* expr) { push(ValueKind::kExpression, expr); }
  Value* pop();
  Value* peek(int depth);         // 1: the top
  syntax::Expression* operand();  // pops an expression
  syntax::Expression* as_expression(Value* value);
  syntax::Expressions operands(int count);  // in the order they were pushed
  bool on_stack(const Value* value) const;
  bool is_hidden(int variable) const;  // by a comprehension that is inlined here
  void note_use(std::vector<bool>& uses, int variable);
  bool at_base() const;
  size_t base() const;  // values of the statement under way lie at and above it
  template <class SyntaxNode, class... Fields>
  SyntaxNode* make(Fields&&... fields) {
    return builder_.tree.make<SyntaxNode>(std::forward<Fields>(fields)...);
  }
  const suture::Constant* constant_of(const syntax::Expression* expr) const;
  syntax::Expression* make_constant(suture::Constant constant);
  std::string local_name(int index);
  std::string name(int index);
  syntax::Expression* name_expr(std::string id) { return make<syntax::Name>(std::move(id)); }

  // ---- parts of instructions
  syntax::Expression* unfolded_format(syntax::Expression* left, syntax::Expression* right);
  void load_super();
  void slice(bool store);
  void extend_display(int depth, Value* added);
  void merge_dict(int depth, bool of_call);
  bool names_arguments(const syntax::Dict& dict) const;
  void add_element(const LiftedInstruction& it);
  void format(syntax::Expression* value, int conversion, syntax::Expression* spec);
  void call(int count, const suture::Constant* names);
  void declare(const AssignedOutside& assigned);
  void call_value(Value* callee, std::vector<Value*> args, std::vector<syntax::Keyword> keywords);
  void call_ex(bool has_keywords);
  void build_class(const std::vector<Value*>& args, std::vector<syntax::Keyword> keywords);
  void make_function_value(int flags);
  void set_function_attribute(Value* function, int flag, Value* value);
  syntax::TypeParams type_params_of(const syntax::Expression* expr);
  void type_parameter(syntax::TypeParamKind kind, syntax::Expression* bound);
  syntax::Expression* deferred(
      syntax::Expression* function);  // what a function made for one expression returns
  void type_alias();
  void call_generic(Value* callee, const std::vector<Value*>& args);
  bool execute_type_params(int number);
  void intrinsic_1(int number);
  void intrinsic_2(int number);
  std::optional<std::vector<syntax::Keyword>> named_pairs(const syntax::Expression* dict);
  syntax::Expressions elements_of(const syntax::Expression* expr);
  syntax::Expressions unfolded(syntax::Expressions elements, size_t fewest_folded);

  void store(syntax::Expression* target);
  void assign(Value* value, syntax::Expression* target);
  void assign_part(Value* value, syntax::Expression* target);
  void assign_import(Value* value, const std::string& target);
  bool assign_special(Value* value, syntax::Expression* target);
  void define(Value* value, syntax::Expression* target);
  void flush_stores();
  bool annotate(syntax::Expression* container, syntax::Expression* key, syntax::Expression* value);
  void augment(Value* value, syntax::Expression* target);
  void drop(Value* value);
  void fill_dead_targets(syntax::Expression* target);
  void emit(syntax::Statement* statement);

  bool is_implicit_return(const Value* value) const;
  bool inverted_jump(const LiftedInstruction& it) const;
  void branch(const LiftedInstruction& it);
  void match_case(const MatchedCase& matched);
  void note_store(Op op, int arg);  // for the declarations it needs
  void leave_handler();

  Builder& builder_;
  const Scope& scope_;
  const LiftedCode& code_;
  const Regions& regions_;
  const Blocks& blocks_;
  const std::vector<MatchedCase>& cases_;
  Evaluated result_;
  FlowGraph& graph_;
  std::map<std::tuple<Context::Kind, int, const Context*>, const Context*> contexts_;

  std::vector<int> last_of_;  // node -> the last instruction it has run, or -1
  int node_ = -1;             // being filled
  Stack stack_;
  const Block* block_ = nullptr;
  size_t position_ = 0;  // in block_->instructions
  const LiftedInstruction* current_ = nullptr;
  bool ended_ = false;  // the block's last instruction has set the node's end
  std::map<const syntax::Expression*, Value*> placeholders_;    // of definitions inside displays
  std::vector<std::pair<Value*, syntax::Expression*>> stores_;  // of `a, b = x, y`
  syntax::TypeParams type_params_;                              // of the class that this code makes
  std::vector<syntax::Expression**> dead_targets_;
  std::deque<syntax::Expression*> dead_store_targets_;
  int next_order_ = 0, next_sequence_ = 0;
  size_t kept_values_ = 0;
  std::string error_;
};

}  // namespace suture::toolbox
