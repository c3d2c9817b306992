// The flow graph that symbolic execution makes of blocks: statements, and how each node ends.
//
// Values on the symbolic stack are expressions not yet part of a statement, or marks: places that loops, with statements and
// handlers occupy, which say what a node is inside of. Nodes of expressions that run in several nodes (`a or b`, comprehensions)
// are merged as soon as their parts are known, so that in the end a node is a list of statements.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "toolbox/decompile/syntax.h"

namespace suture::toolbox {

enum class ValueKind : uint8_t {
  kExpression,
  kNull,        // the empty slot of a call
  kSelf,        // the slot of a method's object; the callable below is the attribute
  kNothing,     // a result that is only dropped
  kCell,        // for a closure
  kBuildClass,  // __build_class__
  kFunction,    // under construction
  kDefinition,  // a function or class, perhaps decorated, on its way to its name
  kTypeParameter,
  kTypeAlias,
  kPart,  // of an unpacked value
  kModule,
  kModuleItem,
  kSaved,      // a variable that an inlined comprehension hides
  kIterable,   // iter(expression)
  kItem,       // what a loop's iterator gave
  kEntered,    // what __enter__ gave
  kException,  // the exception being handled
  kTypeTest,   // does the exception match the clause?
  // Marks: what is above belongs to statements inside.
  kIterator,
  kExit,
  kPrevious,  // the exception handled before
  kLasti,
};

struct Unpacking;
struct FunctionParts;
struct ClassParts;
struct TypeAliasParts;

struct Value {
  ValueKind kind = ValueKind::kExpression;
  syntax::Expression* expr = nullptr;
  bool used = false;      // has become part of an expression or a test
  bool in_place = false;  // of an augmented assignment; kTypeTest: of `except*`
  bool display = false;   // built here, not a constant: may grow
  bool filled = false;    // by a comprehension
  int conversion = -1;    // 3.13: CONVERT_VALUE waits for FORMAT
  int place = -1;  // kIterator, kItem: node; kExit, kEntered, kException, kPrevious: region; kSaved: variable
  int order = 0;   // in which it was made
  std::string name;             // kPrevious: the clause's name; kModule, kModuleItem
  syntax::Expressions targets;  // stored to while a copy stays on the stack: `a = b = value`, or (a := value)
  std::shared_ptr<Unpacking> unpacking;
  int part = 0;
  Value* module = nullptr;  // kModuleItem
  std::vector<syntax::Alias> aliases;
  int level = 0;
  bool has_from_list = false;
  std::shared_ptr<FunctionParts> function;
  std::shared_ptr<ClassParts> class_parts;
  std::shared_ptr<TypeAliasParts> alias;
  std::shared_ptr<syntax::TypeParam> type_parameter;
  syntax::Expressions decorators;
};
using Stack = std::vector<Value*>;

struct Unpacking {
  Value* source = nullptr;
  syntax::Expressions targets;
  int star = -1;
  int missing = 0;
};

// What a node is inside of, innermost first along `parent`. One object per different chain.
struct Context {
  enum class Kind : uint8_t { kCode, kFor, kRegion, kHandler };
  Kind kind = Kind::kCode;
  int id = 0;  // kFor: node of the loop; else the region
  const Context* parent = nullptr;
  int level = 0;

  bool inside(const Context* outer) const {
    const Context* at = this;
    while (at && at->level > outer->level) at = at->parent;
    return at == outer;
  }
};

enum class End : uint8_t {
  kNone,
  kGoto,      // yes
  kBranch,    // test ? yes : no
  kFor,       // body yes, exhausted no
  kTry,       // body yes, handler no
  kWith,      // body yes; no: where a swallowed exception leads, or nowhere
  kTypeTest,  // an except clause: its body yes, the next clause no
  kCase,      // a case of a match statement: its body yes, the next one no; test: the subject
  kReturn,    // test
  kRaise,     // the last statement raises
  kReraise,   // end of a handler
  kStop,      // never reached
};

struct Edge {
  int to = -1;
  Stack stack;
  bool falls = false;  // of a branch: the way on without a jump, where the compiler puts the body of an `if`
};

struct FlowNode {
  End end = End::kNone;
  syntax::Statements statements;
  Value* test = nullptr;
  Edge yes, no;
  Stack entry;
  const Context* context = nullptr;
  int place = 0;           // first instruction
  int loop_end = 0;        // of a loop's head: where the copy of its test was
  int sequence = 0;        // in which nodes were made: predecessors first, but for backward edges
  int line = 0;            // of the test, or where it ends
  int region = -1;         // kTry, kWith
  bool is_header = false;  // a loop's
  bool dead = false;       // merged into another node
  bool implicit_return = false;
  // kFor
  syntax::Expression* iter = nullptr;
  syntax::Expression* target = nullptr;
  bool is_async = false;
  syntax::Pattern* pattern = nullptr;  // kCase
  bool guarded_by_true = false;        // kCase
  // the element a comprehension's body adds
  Value* filled = nullptr;
  syntax::Expression* element = nullptr;
  syntax::Expression* element_key = nullptr;
  const Value* dropped_test = nullptr;   // this node begins with dropping what the branch before it tested
  std::string clause_name;               // this node begins an except clause with a name
  std::vector<std::pair<int, bool>> in;  // nodes with an edge here; true: their `no` edge

  bool has_no_statements() const { return statements.empty() && !element; }
  // Goes on, and computes no value for what follows.
  bool does_nothing() const {
    if (end != End::kGoto || !has_no_statements() || !clause_name.empty() || dead || yes.to < 0) return false;
    return std::all_of(yes.stack.begin(), yes.stack.end(), [&](const Value* value) {
      return value->kind == ValueKind::kNothing ||
             std::find(entry.begin(), entry.end(), value) != entry.end();
    });
  }
};

struct WithParts {
  syntax::Expression* context_expr = nullptr;
  syntax::Expression* optional_vars = nullptr;
  bool is_async = false;
};

struct FlowGraph {
  std::deque<FlowNode> nodes;
  std::map<int, WithParts> withs;  // by region
  int entry = 0;

  FlowNode& at(int node) { return nodes[static_cast<size_t>(node)]; }
  const FlowNode& at(int node) const { return nodes[static_cast<size_t>(node)]; }
  int size() const { return static_cast<int>(nodes.size()); }
};

}  // namespace suture::toolbox
