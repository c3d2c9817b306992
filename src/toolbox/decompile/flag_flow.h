// Tier 2 of the decompiler: the nodes of a dispatch machine as nested statements.
//
// How it works
//   Inside each context (dispatch_machine.h) the nodes are a flow graph. A node that nothing else leads to stands where it is gone to, in
//   the arm of an `if`; what several ways lead to stands behind the node that dominates it, and loops are `while True:`. So
//   every way that leaves a node is at the end of its statement, and goes on by falling off that end, by `break`, or by
//   `continue`. Where several ways arrive there that go to different places, each says which by `_leave = <place>`, and an `if`
//   behind the statement asks. Statements that are left to several places (with, try, loops) need no more than that.
//   Flags that nothing reads are dropped at the end (flag_cleanup.h), which leaves only those that are needed.
//   A context whose flow no nesting expresses (irreducible, or a `try` that is entered in several places) is a dispatch loop.
#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "toolbox/decompile/context_graph.h"
#include "toolbox/decompile/dispatch_machine.h"

namespace suture::toolbox::dispatch {

class FlagFlow {
 public:
  explicit FlagFlow(Machine& machine);
  // The body of a function, module or class; where error() is not "", that says why it has none.
  syntax::Statements run(Context* root, int entry);
  const std::string& error() const { return error_; }

 private:
  using Statements = syntax::Statements;
  using Places = std::set<int>;  // nodes

  struct Loop {  // of the text
    int header = -1;
    Places left;     // where `break` goes
    Places waiting;  // vertices that stand behind a statement inside of it
  };
  struct Frame {
    Context* context = nullptr;
    const ContextGraph* graph = nullptr;
    Loop* loop = nullptr;     // of `break` and `continue`; null: there is none
    Loop* scope = nullptr;    // the same, or what stands for it where jumps are not allowed
    Places* falls = nullptr;  // where ways go that fall off the end of the statement
    int follow = -1;          // the vertex that stands there
    bool returns = true;      // may a `return` stand here?
  };

  Statements attempt(Context* root, int entry);

  // ---- the graph
  int vertex_of(int node, const Context* context) const;  // -1: outside
  int vertex_of_try(const Context* context) const;
  Context* try_of(int vertex) const;
  int withs_left(const Context* from, int target) const;
  int threaded(int node, const Context* from) const;
  void thread(const Statements& body, const Context* from);
  void find_ways();
  void add_way(int target, const Context* from);
  void add_ways(const Statements& body, const Context* from);
  std::vector<int> leads_to(int vertex, const Context* context) const;  // with one for each way
  void add_targets(const Statements& body, std::vector<int>& out) const;
  const Places& exits(const Context* context) { return exits_[context]; }
  const ContextGraph& graph_of(Context* context, int entry);
  bool is_confined(Context* context, int entry);

  // ---- where ways go
  enum class Way : uint8_t { kFalls, kInside, kContinues, kBreaks };
  Way way_to(int node, const Frame& frame) const;
  bool is_at(int node, int vertex,
             const Frame& frame) const;  // vertex: the node, or a try statement that begins with it
  bool is_waiting(int node, const Frame& frame) const;
  bool stands_inside(int node, const Frame& frame) const;
  bool returns_at_once(int vertex, const Frame& frame) const;
  void go(int node, const Frame& frame, Statements& out);

  // ---- statements
  void inside(Context* context, int entry, Frame frame, Statements& out);
  void emit(int vertex, const Frame& frame, Statements& out);
  void emit_vertex(int vertex, const Frame& frame, Statements& out);
  void emit_alone(int vertex, const Frame& frame, Statements& out);
  void emit_for(int node, const Frame& frame, Statements& out);
  void emit_with(const DispatchNode& head, const Frame& frame, Statements& out);
  void emit_try(Context* context, const Frame& frame, Statements& out);
  void emit_arrivals(const std::vector<int>& vertices, Places arrived, const Frame& frame, Statements& out);
  void wait_for(const std::vector<int>& vertices, const Frame& frame);
  void copy(const Statements& body, const Frame& frame, Statements& out);
  syntax::Statement* set_flag(int node);
  syntax::Expression* test_of(int vertex);
  int target_of(const syntax::Statement* statement) const;  // of `_leave = <place>`; -1: it is something else
  const DispatchNode& node(int index) const { return m_.nodes_[static_cast<size_t>(index)]; }
  void fail(const std::string& what) {
    if (error_.empty()) error_ = what;
  }
  bool failed() const { return !error_.empty(); }

  Machine& m_;
  std::unordered_map<const syntax::Constant*, int> targets_;
  std::map<const Context*, int> try_vertices_;
  std::vector<Context*> tries_;
  std::map<const Context*, Places> entries_;  // of try contexts
  std::map<const Context*, Places> exits_;
  std::map<std::pair<Context*, int>, ContextGraph> graphs_;
  std::unordered_map<const syntax::Constant*, int> jumps_;   // as the machine has them
  std::unordered_map<const syntax::Statement*, int> flags_;  // that are set in the text
  bool confined_ = false;                                    // some context is a dispatch loop
  bool threads_ = true;  // past nodes that do nothing, unless a dispatch loop inside shows them
  Places placed_;        // vertices that have their place in the text
  int depth_ = 0;
  std::string error_;
};

}  // namespace suture::toolbox::dispatch
