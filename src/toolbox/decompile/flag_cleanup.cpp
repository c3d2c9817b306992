// Flags: liveness of the one variable, backwards. Exceptions may come from every other statement.
#include "toolbox/decompile/flag_cleanup.h"

#include <type_traits>

#include "toolbox/decompile/expressions.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

namespace {

// Is the flag read behind: where the statement ends, at the ends of the loop around, where an exception goes?
struct Live {
  bool out = false, broken = false, continued = false, raised = false;
};

class FlagDropper {
 public:
  explicit FlagDropper(const FlagUse& use) : use_(use) {}

  bool run(Statements& body) {
    before(body, {}, true);
    return left_;
  }

 private:
  // Is it read at the beginning? `drop`: what nothing reads goes.
  bool before(Statements& body, const Live& ends, bool drop) {
    Live at = ends;
    for (size_t i = body.size(); i-- > 0;) {
      if (!use_.sets(body[i])) {
        at.out = before(body[i], at, drop);
      } else if (at.out) {
        at.out = false;
        left_ = left_ || drop;
      } else if (drop) {
        body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    return at.out;
  }

  bool loop(Statements& body, Statements& otherwise, const Live& ends, bool ends_itself, bool drop) {
    const bool exhausted = ends_itself && before(otherwise, ends, drop);
    Live in = ends;
    in.broken = ends.out;
    in.out = in.continued = exhausted;
    const bool first = before(body, in, false) || exhausted;
    in.out = in.continued = first;
    return (drop ? before(body, in, true) : first) || exhausted || ends.raised;
  }

  bool before(std::vector<ExceptHandler>& handlers, const Live& ends, bool drop) {
    bool read = false;
    for (ExceptHandler& each : handlers) read |= before(each.body, ends, drop);
    return read;
  }

  template <class TryNode>
  bool tried(TryNode* node, const Live& ends, bool drop) {
    Live in = ends;
    // Behind `except*`, control goes on as far as the compiler sees, whatever its clauses match or raise.
    if (std::is_same_v<TryNode, TryStar>) in.raised = ends.raised || ends.out;
    in.raised = before(node->handlers, in, drop) || in.raised;
    return before(node->body, in, drop) || in.raised;
  }

  template <class WithNode>
  bool with(WithNode* node, const Live& ends, bool drop) {
    Live in = ends;
    in.raised = ends.raised || ends.out;  // what raises may be swallowed
    return before(node->body, in, drop) || ends.raised;
  }

  bool before(Statement* statement, const Live& ends, bool drop) {
    if (auto* node = as<If>(statement)) {
      const bool body = before(node->body, ends, drop), otherwise = before(node->orelse, ends, drop);
      return body || otherwise || ends.raised || use_.reads(node->test);
    }
    if (auto* node = as<While>(statement)) {
      return loop(node->body, node->orelse, ends, false, drop);  // all of them are `while True`
    }
    if (auto* node = as<For>(statement)) return loop(node->body, node->orelse, ends, true, drop);
    if (auto* node = as<AsyncFor>(statement)) return loop(node->body, node->orelse, ends, true, drop);
    if (auto* node = as<Try>(statement)) return tried(node, ends, drop);
    if (auto* node = as<TryStar>(statement)) return tried(node, ends, drop);
    if (auto* node = as<With>(statement)) return with(node, ends, drop);
    if (auto* node = as<AsyncWith>(statement)) return with(node, ends, drop);
    if (auto* node = as<Match>(statement)) {
      bool read = ends.raised;
      for (MatchCase& each : node->cases) read |= before(each.body, ends, drop);
      return read;
    }
    if (as<syntax::Break>(statement)) return ends.broken;
    if (as<Continue>(statement)) return ends.continued;
    if (as<Return>(statement) || as<Raise>(statement)) return ends.raised;
    return ends.out || ends.raised;
  }

  const FlagUse& use_;
  bool left_ = false;
};

// ---- plain forms

bool leaves(const Statements& body) {
  const Statement* last = body.empty() ? nullptr : body.back();
  if (const auto* branch = as<If>(last)) return leaves(branch->body) && leaves(branch->orelse);
  return as<Return>(last) || as<Raise>(last) || as<syntax::Break>(last) || as<Continue>(last);
}

// `continue` at the end of a loop's body.
void drop_continue(Statements& body) {
  if (body.empty()) return;
  if (as<Continue>(body.back())) {
    body.pop_back();
  } else if (auto* branch = as<If>(body.back())) {
    drop_continue(branch->body);
    drop_continue(branch->orelse);
  }
}

class PlainForm {
 public:
  PlainForm(const std::set<std::string>& temporaries, SyntaxTree& tree)
      : temporaries_(temporaries), tree_(tree) {}

  void run(Statements& body) {
    for (size_t i = body.size(); i-- > 1;) {
      if (use_at_once(body[i - 1], body[i])) body.erase(body.begin() + static_cast<std::ptrdiff_t>(i) - 1);
    }
    for (size_t i = 0; i < body.size(); ++i) {
      if (auto* node = as<If>(body[i])) {
        branch(node, body, i);
      } else if (auto* loop = as<While>(body[i])) {
        run_loop(loop->body);
        test_at_head(loop);
      } else if (auto* each = as<For>(body[i])) {
        run_for(each);
      } else if (auto* item = as<AsyncFor>(body[i])) {
        run_for(item);
      } else if (auto* tried = as<Try>(body[i])) {
        run_try(tried);
      } else if (auto* star = as<TryStar>(body[i])) {
        run_try(star);
      } else if (auto* with = as<With>(body[i])) {
        run_filled(with->body);
      } else if (auto* async = as<AsyncWith>(body[i])) {
        run_filled(async->body);
      } else if (auto* match = as<Match>(body[i])) {
        for (MatchCase& one : match->cases) run_filled(one.body);
      }
    }
  }

 private:
  // `_s0 = x; return _s0`, `_s0 = rows; for row in _s0: ...`: on the stack, the value is gone then.
  bool use_at_once(const Statement* before, Statement* statement) {
    const auto* assign = as<Assign>(before);
    const auto* target = assign && assign->targets.size() == 1 ? as<Name>(assign->targets[0]) : nullptr;
    if (!target || !temporaries_.contains(target->id)) return false;
    auto* result = as<Return>(statement);
    auto* loop = as<For>(statement);
    auto* async = as<AsyncFor>(statement);
    Expression** value = result ? &result->value : loop ? &loop->iter : async ? &async->iter : nullptr;
    const auto* name = value ? as<Name>(*value) : nullptr;
    if (!name || name->id != target->id) return false;
    *value = assign->value;
    return true;
  }

  void fill(Statements& body) {
    if (body.empty()) body.push_back(tree_.make<Pass>());
  }
  void run_filled(Statements& body) {
    run(body);
    fill(body);
  }
  void run_loop(Statements& body) {
    drop_continue(body);
    run_filled(body);
  }
  template <class ForNode>
  void run_for(ForNode* node) {
    run_loop(node->body);
    run(node->orelse);
  }
  template <class TryNode>
  void run_try(TryNode* node) {
    run_filled(node->body);
    for (ExceptHandler& each : node->handlers) run_filled(each.body);
  }

  // An arm that leaves comes first, and the other one behind the `if`.
  void branch(If* node, Statements& around, size_t at) {
    const bool turned =
        (node->body.empty() && !node->orelse.empty()) || (leaves(node->orelse) && !leaves(node->body));
    if (Expression* opposite = turned ? make_not(tree_, node->test) : nullptr) {
      node->test = plainest_test(tree_, opposite);
      node->body.swap(node->orelse);
    }
    if (leaves(node->body) && !node->orelse.empty()) {
      around.insert(around.begin() + static_cast<std::ptrdiff_t>(at) + 1, node->orelse.begin(),
                    node->orelse.end());
      node->orelse.clear();
    }
    run_filled(node->body);
    run(node->orelse);
  }

  // `while True: if a: break; ...`
  void test_at_head(While* loop) {
    const auto* first = as<If>(loop->body.front());
    if (!first || !as<syntax::Constant>(loop->test) || !first->orelse.empty() || first->body.size() != 1 ||
        !as<syntax::Break>(first->body.front()))
      return;
    Expression* opposite = make_not(tree_, first->test);
    if (!opposite) return;
    loop->test = plainest_test(tree_, opposite);
    loop->body.erase(loop->body.begin());
    fill(loop->body);
  }

  const std::set<std::string>& temporaries_;
  SyntaxTree& tree_;
};

}  // namespace

bool drop_unread_flags(Statements& body, const FlagUse& use) { return FlagDropper(use).run(body); }

void make_plain(Statements& body, const std::set<std::string>& temporaries, SyntaxTree& tree) {
  PlainForm(temporaries, tree).run(body);
}

}  // namespace suture::toolbox::dispatch
