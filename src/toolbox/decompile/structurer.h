// Structurer: nested statements from a flow graph, top down.
//
// emit(node, frame) writes the statements that run from a node on, until control reaches a place the frame names: where the
// enclosing block falls to (`follow`), the loop's head (`continue`), what is behind the loop (`break`). Each compound statement picks its
// own follow (the node below it in the dominator tree that several ways lead to, or the one way out of a region), writes
// its parts with that follow, and goes on there. A region's contexts say exactly what is inside a for, with, try or handler; what
// belongs to a while loop is where the loop's ways lead before they meet again.
// A node that two places lead to although none of them names it is written twice, within a limit.
#pragma once

#include <set>
#include <string>

#include "toolbox/decompile/flow_analysis.h"
#include "toolbox/decompile/structure_statements.h"

namespace suture::toolbox {

struct Frame {
  const Context* context = nullptr;
  int follow = -1;
  int break_to = -1, continue_to = -1;
};

class Structurer {
 public:
  Structurer(Builder& builder, Evaluated& code, const LiftedCode& lifted, const Regions& regions);
  Result<syntax::Statements> run();

 private:
  using Statements = syntax::Statements;

  // True when control can fall off the end of what was written.
  bool emit(int node, const Frame& frame, Statements& out);
  bool emit_from_header(int header, const Frame& frame, Statements& out);
  // One node's statements, and the compound statement it ends with. `next` becomes where control goes on, or -1.
  bool emit_node(int node, const Frame& frame, Statements& out, int& next);
  bool leave(int node, const Frame& frame, Statements& out, bool& falls);

  bool emit_branch(int node, const Frame& frame, Statements& out, int& next);
  bool emit_continue(int node, const Frame& frame, Statements& out, int& next);
  bool emit_assert(int node, Statements& out, int& next);
  int pick_merge(int node, const Frame& frame) const;
  void emit_for(int node, const Frame& frame, Statements& out, int& next);
  void emit_while(int node, const Frame& frame, Statements& out, int& next);
  int follow_of_while(int header, bool tested, int exhausted, const Frame& frame, int& otherwise) const;
  std::set<int> ways_out(int header, bool tested, int exhausted, const Frame& frame) const;
  void emit_try(int node, const Frame& frame, Statements& out, int& next);
  void emit_except(int node, const Frame& frame, Statements& out, int& next);
  void emit_finally(int node, const Frame& frame, Statements& out, int& next);
  std::vector<syntax::ExceptHandler> emit_handlers(int handler, Frame frame, bool star);
  int past_empty(int node) const;
  void emit_with(int node, const Frame& frame, Statements& out, int& next);
  void emit_match(int node, const Frame& frame, Statements& out, int& next);
  bool is_next_case(int node, const Value* subject) const;
  syntax::Expression* guard_of(int node, int& body, int& otherwise);
  int pick_exit(const Context* context, const Frame& frame) const;

  const Context* inner(const FlowNode& node, Context::Kind kind, int id) const;
  bool is_handler_end(int node) const;
  bool is_short_return(int node) const;
  bool can_return_early(int node) const;
  bool is_jump_target(int node, const Frame& frame) const {
    return node == frame.break_to || node == frame.continue_to;
  }
  const suture::syntax::Raise* assertion(int node) const;
  void fail(int node, const std::string& what);
  bool failed() const { return !error_.empty(); }
  void fill(Statements& body);  // an empty one gets `pass`
  template <class SyntaxNode, class... Fields>
  SyntaxNode* make(Fields&&... fields) {
    return builder_.tree.make<SyntaxNode>(std::forward<Fields>(fields)...);
  }

  Builder& builder_;
  Evaluated& code_;
  FlowGraph& graph_;
  const LiftedCode& lifted_;
  const Regions& regions_;
  FlowAnalysis flow_;
  std::vector<bool> written_;
  int repeated_ = 0, depth_ = 0;
  std::string error_;
};

}  // namespace suture::toolbox
