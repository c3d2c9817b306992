// Nodes and contexts of a dispatch loop; see dispatch_machine.h.
#include "toolbox/decompile/dispatch_loop.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/flag_flow.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

namespace {

constexpr int kMaxNodes = 20'000;            // copies of nodes in several contexts included
constexpr size_t kMaxKeptSlots = 1'000'000;  // of all nodes together
constexpr int kMaxContexts = 2'000;
constexpr int kMaxContextDepth = 30;  // loops and try blocks inside each other; Python allows 20 blocks

bool is_mark(SlotKind kind) { return kind >= SlotKind::kIterator; }

}  // namespace

void Machine::fail(const std::string& what) {
  if (failed()) return;
  const int offset = at_ >= 0 ? lifted_.at(at_).offset : 0, line = at_ >= 0 ? lifted_.at(at_).line : 0;
  error_ = fmt::format("offset {} (line {}): {}", offset, line, what);
}

Result<DispatchLoop> Machine::run() {
  SUTURE_TRY(lifted, lift(code_));
  lifted_ = std::move(lifted);
  mark_except_star(lifted_);
  SUTURE_TRY(regions, find_regions(lifted_));
  regions_ = std::move(regions);
  choose_names();
  next_spare_ = code_.view.stack_size + 1;
  if (!is_function()) skip_prologue();
  find_leaders();
  explore();
  if (failed()) return Error::unsupported("decompile", error_);
  Context* root = intern(Context::Kind::kCode, 0, nullptr);
  int next = 0;
  number_nodes(root, next);
  for (auto& [constant, node] : pc_values_) {
    constant->value = suture::Constant::number(nodes_[static_cast<size_t>(node)].number);
  }
  DispatchLoop loop;
  if (form_ == LoopForm::kFlags) {
    FlagFlow flow(*this);
    loop.body = flow.run(root, entry_);
    if (!flow.error().empty()) return Error::unsupported("decompile", flow.error());
  } else {
    loop.body = {make<Assign>(Expressions{pc()}, integer(nodes_[static_cast<size_t>(entry_)].number))};
    for (Statement* statement : dispatch(root)) loop.body.push_back(statement);
    synthetic_.insert(pc_name_);
  }
  if (!is_function()) wrap_body(loop.body);
  add_declarations(loop.body);
  if (failed()) return Error::unsupported("decompile", error_);
  loop.synthetic_locals.assign(synthetic_.begin(), synthetic_.end());
  return loop;
}

// `_pc` and the `_s`, with underscores behind them where the code (of a module or class: or what is nested in it, which may see
// them) has such names.
void Machine::choose_names() {
  const auto taken = [&](const std::vector<std::string>& names) {
    return std::ranges::any_of(names, [&](const std::string& one) {
      return one == pc_name_ || (one.starts_with("_s") && one.size() > 2 && one.ends_with(suffix_) &&
                                 one[2] >= '0' && one[2] <= '9');
    });
  };
  std::vector<const CodeTree*> codes = {&code_};
  std::set<const CodeTree*> seen = {&code_};  // several may hold the same
  for (size_t next = 0; !is_function() && next < codes.size(); ++next) {
    for (const suture::Constant& constant : codes[next]->constants) {
      const CodeTree* nested = constant.code.get();
      if (nested && seen.insert(nested).second) codes.push_back(nested);
    }
  }
  const auto clash = [&] {
    return std::ranges::any_of(codes, [&](const CodeTree* code) {
      return taken(code->view.local_names) || taken(code->view.names);
    });
  };
  const std::string plain = form_ == LoopForm::kFlags ? "_leave" : "_pc";
  for (pc_name_ = plain; clash(); pc_name_ = plain + suffix_) suffix_ += '_';
}

// The first instruction at or behind `index` that does something; 0 after fail().
int Machine::reach(int index) {
  const int at = index >= 0 ? lifted_.skip_empty(index) : -1;
  if (at < 0) fail("control runs off the end of the code");
  return std::max(at, 0);
}

// A node begins where ways join, and where a loop tests.
void Machine::find_leaders() {
  const auto size = static_cast<size_t>(lifted_.size());
  is_leader_.assign(size, false);
  std::vector<int> ways(size, 0);
  const auto come = [&](int to) {
    const int lands = to >= 0 ? lifted_.skip_empty(to) : -1;
    if (lands >= 0) ++ways[static_cast<size_t>(lands)];
  };
  come(lifted_.entry);
  for (const Region& region : regions_.all) come(region.handler);
  for (int i = 0; i < lifted_.size(); ++i) {
    const LiftedInstruction& it = lifted_.at(i);
    if (it.op == Op::Nop || it.op == Op::Jump) continue;
    come(it.next);
    come(it.target);
  }
  for (size_t i = 0; i < size; ++i) {
    const Op op = lifted_.at(static_cast<int>(i)).op;
    is_leader_[i] = ways[i] > 1 || op == Op::ForIter || op == Op::AsyncForIter;
  }
}

void Machine::explore() {
  entry_ = node_at(reach(lifted_.entry), {});
  while (!work_.empty() && !failed()) {
    const int node = work_.back();
    work_.pop_back();
    run_node(node);
  }
}

// ---- contexts

Context* Machine::intern(Context::Kind kind, int id, Context* parent) {
  Context*& known = interned_[{kind, id, parent}];
  if (!known) {
    const int level = parent ? parent->level + 1 : 0;
    if (level > kMaxContextDepth || contexts_.size() >= kMaxContexts) {
      fail("loops and handlers are nested too deeply");
    }
    contexts_.push_back({.kind = kind, .id = id, .parent = parent, .level = level});
    known = &contexts_.back();
    if (parent) parent->children.push_back(known);
  }
  return known;
}

// Marks on the stack and try regions around the instruction, outermost first. A with statement lasts as long as its exit
// function is on the stack, so its region says nothing new.
Context* Machine::context_for(const Slots& slots, int instruction) {
  std::vector<int> around;
  for (int at = regions_.region_of(instruction); at >= 0; at = regions_.at(at).parent) {
    if (regions_.at(at).kind != RegionKind::kWith) around.push_back(at);
  }
  Context* context = intern(Context::Kind::kCode, 0, nullptr);
  for (size_t slot = 0; slot <= slots.size(); ++slot) {
    while (!around.empty() &&
           (slot == slots.size() || regions_.at(around.back()).depth <= static_cast<int>(slot))) {
      const int region = around.back();
      around.pop_back();
      context = intern(Context::Kind::kTry, region, context);
      if (!clauses_.contains(context)) explore_handler(context, region, slots);
      if (failed()) return context;
    }
    if (slot == slots.size()) break;
    const Slot& value = slots[slot];
    if (value.kind == SlotKind::kIterator) context = intern(Context::Kind::kFor, value.id, context);
    if (value.kind == SlotKind::kExit) context = intern(Context::Kind::kWith, value.id, context);
    if (value.kind == SlotKind::kPrevious) context = intern(Context::Kind::kHandler, value.id, context);
  }
  return context;
}

// ---- nodes

bool Machine::same_shape(const Slots& a, const Slots& b) const {
  return std::ranges::equal(a, b, [&](const Slot& x, const Slot& y) {
    const bool same_made = (x.kind != SlotKind::kDefinition || x.definition == y.definition) &&
                           (x.kind != SlotKind::kComprehension || x.expr == y.expr);
    const suture::Constant *one = constant_of(x.expr), *other = constant_of(y.expr);
    const bool same_value = one && other ? same_constant(*one, *other) : !one == !other;
    return x.kind == y.kind && (!is_mark(x.kind) || x.id == y.id) && x.name == y.name && same_made &&
           same_value;
  });
}

// A constant needs no local where all ways have the same one. Ways join with one value each, which is on top; when what is below
// differs, too, all is done again with locals. A set of constants has no other place in a text than where it is iterated over.
bool Machine::stays_constant(const Slots& slots, size_t depth, int instruction) const {
  const Slot& slot = slots[depth];
  const suture::Constant* constant = constant_of(slot.expr);
  if (!constant) return false;
  if (slot.kind == SlotKind::kIterable) return constant->is(suture::Constant::Kind::kFrozenset);
  return keep_constants_ && slot.kind == SlotKind::kValue && !slot.waits &&
         (depth + 1 < slots.size() || !is_leader_[static_cast<size_t>(instruction)]);
}

// The node of an instruction with these values on the stack; made when it is new. Values are in their `_s` by now.
int Machine::node_at(int instruction, Slots slots) {
  if (failed()) return 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool has_local = slots[i].kind == SlotKind::kValue || slots[i].kind == SlotKind::kIterable ||
                           slots[i].kind == SlotKind::kEntered;
    if (!has_local || stays_constant(slots, i, instruction)) continue;
    slots[i].expr = slot_name(static_cast<int>(i));
    slots[i].waits = slots[i].display = false;
    slots[i].uses = {static_cast<int>(i)};
  }
  Context* context = context_for(slots, instruction);
  if (failed()) return 0;
  const auto [known, fresh] = node_of_.try_emplace({instruction, context}, static_cast<int>(nodes_.size()));
  if (!fresh) {
    if (!same_shape(nodes_[static_cast<size_t>(known->second)].entry, slots)) {
      differ_ = true;
      fail("ways that join with different values");
    }
    return known->second;
  }
  if (nodes_.size() >= kMaxNodes) fail("the code has too many blocks");
  kept_slots_ += slots.size();
  if (kept_slots_ > kMaxKeptSlots) fail("too many values are on the stack between the blocks of the code");
  nodes_.push_back({.start = instruction, .context = context, .entry = std::move(slots)});
  context->nodes.push_back(known->second);
  work_.push_back(known->second);
  return known->second;
}

Expression* Machine::slot_name(int depth) {
  const std::string id = synthetic("_s" + std::to_string(depth));
  synthetic_.insert(id);
  return make<Name>(id);
}

// Brings every value to its `_s<depth>`.
void Machine::settle(Slots& slots, int instruction, Statements& out) {
  Expressions targets, values;
  Statements alone;  // one for each
  std::set<int> written;
  bool conflict = false;
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = slots[i];
    const int depth = static_cast<int>(i);
    switch (slot.kind) {
      case SlotKind::kValue:
      case SlotKind::kIterable:
      case SlotKind::kEntered:
        if (stays_constant(slots, i, instruction)) continue;
        break;
      case SlotKind::kAssertion:
        if (slot.expr) return fail("an assertion whose message is used in another block");
        continue;
      case SlotKind::kDefinition:
      case SlotKind::kComprehension:
        // Made where it is used: nothing can see the difference while it holds no values of other expressions.
        if (!slot.uses.empty()) return fail("a definition that is used in another block");
        continue;
      default: continue;
    }
    if (slot.conversion >= 0) return fail("a conversion that is used in another block");
    const auto* at = as<Name>(slot.expr);
    if (at && slot.uses == std::set<int>{depth} && !slot.waits) continue;
    for (int used : slot.uses) conflict = conflict || written.contains(used);
    written.insert(depth);
    targets.push_back(slot_name(depth));
    alone.push_back(assign(depth, slot));
    values.push_back(slot.expr);
  }
  if (!conflict || targets.size() < 2) {
    out.insert(out.end(), alone.begin(), alone.end());
  } else {
    out.push_back(make<Assign>(Expressions{make<Tuple>(targets)}, make<Tuple>(values)));
  }
}

Statement* Machine::set_pc(int node) {
  auto* value = make<syntax::Constant>(suture::Constant::number(0));
  pc_values_.emplace_back(value, node);
  return make<Assign>(Expressions{pc()}, value);
}

// Control goes on at an instruction: in this context, in an outer one, or in a try block of one of these.
void Machine::go(int instruction, Slots slots, Context* from, Statements& out) {
  if (instruction < 0) return fail("control runs off the end of the code");
  instruction = reach(instruction);
  settle(slots, instruction, out);
  if (failed()) return;
  if (const StarClause* clause = end_of_clause(instruction, slots)) {
    slots.resize(clause->depth);
    instruction = reach(clause->behind);
  }
  const Op op = lifted_.at(instruction).op;
  // Back to the header of a loop under way: `continue`.
  if ((op == Op::ForIter || op == Op::AsyncForIter) && !slots.empty() &&
      slots.back().kind == SlotKind::kIterator &&
      nodes_[static_cast<size_t>(slots.back().id)].start == instruction) {
    const int header = slots.back().id;
    Context* loop = context_for(slots, instruction);
    out.push_back(set_pc(header));
    for (Context* at = from; at != loop; at = at->parent) {
      if (!at) return fail("a loop is continued from outside");
      at->exits.insert(header);
    }
    out.push_back(make<syntax::Break>());
    return;
  }
  const int to = node_at(instruction, std::move(slots));
  if (failed()) return;
  out.push_back(set_pc(to));
  Context* inside = nodes_[static_cast<size_t>(to)].context;
  Context* common = inside;
  while (common->level > from->level) common = common->parent;
  Context* at = from;
  while (at->level > common->level) at = at->parent;
  while (at != common) at = at->parent, common = common->parent;
  for (Context* entered = inside; entered != common; entered = entered->parent) {
    if (entered->kind != Context::Kind::kTry) return fail("a jump into the middle of a loop or handler");
  }
  for (Context* left = from; left != common; left = left->parent) left->exits.insert(to);
  if (from != common) out.push_back(make<syntax::Break>());
}

void Machine::run_node(int index) {
  node_ = index;
  at_ = nodes_[static_cast<size_t>(index)].start;
  slots_ = nodes_[static_cast<size_t>(index)].entry;
  next_spare_ = code_.view.stack_size + 1;  // none lives on from one node to the next
  Context* context = nodes_[static_cast<size_t>(index)].context;
  Statements body;
  out_ = &body;
  bool first = true;
  int joined = -1;  // where the ways of an expression have joined
  while (!failed()) {
    at_ = lifted_.skip_empty(at_);
    if (at_ < 0) {
      fail("control runs off the end of the code");
      break;
    }
    if (end_of_clause(at_, slots_)) {
      go(at_, slots_, context, body);
      break;
    }
    if (!is_function() && at_end_of_body(at_)) {
      end_body(context, body);
      break;
    }
    const bool joins = is_leader_[static_cast<size_t>(at_)] && at_ != joined;
    const bool moves = !first && (joins || context_for(slots_, at_) != context);
    if (failed()) break;
    if (moves) {
      go(at_, slots_, context, body);
      break;
    }
    first = false;
    if (fold_branches(false)) {
      joined = at_;
      continue;
    }
    const LiftedInstruction it = lifted_.at(at_);
    if (ends_node(it)) break;
    if (!execute(it)) {
      fail(fmt::format("no statement expresses {}", op_name(it.op)));
      break;
    }
    at_ = lifted_.at(at_).next;  // of the last one, when several made one statement
    if (at_ < 0) fail("control runs off the end of the code");
  }
  nodes_[static_cast<size_t>(index)].body = std::move(body);
}

}  // namespace suture::toolbox::dispatch

namespace suture::toolbox {

Result<DispatchLoop> dispatch_loop(const CodeTree& code, const Surroundings& around,
                                   const NestedDefinition& nested, syntax::SyntaxTree& tree, LoopForm form) {
  dispatch::Machine machine(code, around, nested, tree, form, true);
  auto loop = machine.run();
  if (loop || !machine.differ()) return loop;
  return dispatch::Machine(code, around, nested, tree, form, false).run();
}

}  // namespace suture::toolbox
