// GuardTree: final order of guards, the search for the first failing one, and ownership of guarded objects.
#include "guard/guard_tree.h"

#include <fmt/format.h>

#include <algorithm>

#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "guard/guard_check.h"
#include "guard/guard_text.h"

namespace suture {

namespace {

// Modules, functions, classes and builtins live as long as the program means them to; anything else a user
// may want freed.
bool may_be_held(PyView object) {
  return PyModule_Check(object) || PyFunction_Check(object) || PyType_Check(object) ||
         PyCFunction_Check(object) || !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

void weaken(Guard& guard) {
  if (guard.kind != GuardKind::kIdentity || guard.weak || !guard.object) return;
  if (may_be_held(guard.object.get()) && !is_any_ndarray(guard.object.get())) return;
  PyRef reference = make_weak_reference(guard.object.get());
  if (!reference) return;
  guard.object = std::move(reference);
  guard.weak = true;
}

Guard range_guard(const SymbolBinding& binding) {
  Guard guard;
  switch (binding.what) {
    case SymbolBinding::What::kSize: guard.kind = GuardKind::kSizeRange; break;
    case SymbolBinding::What::kStride: guard.kind = GuardKind::kStrideRange; break;
    case SymbolBinding::What::kIntValue: guard.kind = GuardKind::kIntRange; break;
  }
  guard.source = binding.source;
  guard.index = binding.axis;
  guard.symbol = binding.symbol;
  return guard;
}

Guard shape_guard(const ShapeEnv& env, int fact) {
  Guard guard;
  guard.kind = GuardKind::kShape;
  guard.fact = fact;
  guard.where = env.facts()[static_cast<size_t>(fact)].where;
  return guard;
}

// Given guards, then bindings, then facts over the bound symbols.
void put_in_order(GuardSet& set, const ShapeEnv& env) {
  std::erase_if(set.guards, [](const Guard& g) { return g.kind == GuardKind::kShape; });
  for (const SymbolBinding& binding : set.bindings) set.guards.push_back(range_guard(binding));
  for (size_t i = 0; i < env.facts().size(); ++i) set.guards.push_back(shape_guard(env, static_cast<int>(i)));
}

bool needs_source(GuardKind kind) { return kind != GuardKind::kShape; }

bool needs_other(GuardKind kind) {
  return kind == GuardKind::kNoOverlap || kind == GuardKind::kSameObject || kind == GuardKind::kNotSameObject;
}

bool needs_object(GuardKind kind) {
  switch (kind) {
    case GuardKind::kType:
    case GuardKind::kIdentity:
    case GuardKind::kConstant:
    case GuardKind::kDictKeys:
    case GuardKind::kAbsent:
    case GuardKind::kCode: return true;
    default: return false;
  }
}

Status verify_facts_are_bound(const GuardSet& set, const ShapeEnv& env) {
  std::vector<SymbolId> used;
  for (const ShapeFact& fact : env.facts()) {
    fact.lhs.collect_symbols(used);
    fact.rhs.collect_symbols(used);
  }
  for (SymbolId id : used) {
    if (std::ranges::any_of(set.bindings, [&](const SymbolBinding& b) { return b.symbol == id; })) continue;
    const SymbolInfo& symbol = env.symbols()[static_cast<size_t>(id)];
    return Error::internal("guard", fmt::format("symbol {} ({}) is not bound", symbol.name, symbol.source));
  }
  return ok_status();
}

Status verify(const GuardSet& set, const ShapeEnv& env) {
  const auto bad = [](std::string what) { return Error::internal("guard", std::move(what)); };
  const auto has = [&](SourceId id) { return id >= 0 && id < set.sources.size(); };
  for (const Guard& guard : set.guards) {
    const std::string name(info(guard.kind).name);
    if (needs_source(guard.kind) && !has(guard.source)) return bad(name + " guard without source");
    if (needs_other(guard.kind) && !has(guard.other)) return bad(name + " guard without second source");
    if (needs_object(guard.kind) && !guard.object) return bad(name + " guard without object");
    if (guard.kind == GuardKind::kDictKeys && !PyTuple_CheckExact(guard.object.get()))
      return bad("dict_keys guard without tuple of keys");
    if (guard.symbol >= static_cast<int>(env.symbols().size()))
      return bad(name + " guard binds an unknown symbol");
  }
  return verify_facts_are_bound(set, env);
}

// Sizes the scratch; allocates only when it was used for a smaller tree.
void prepare(GuardScratch& scratch, const GuardSet& set, const ShapeEnv& env) {
  const auto slots = static_cast<size_t>(set.sources.size());
  if (scratch.slots.size() < slots) scratch.slots.resize(slots);
  if (scratch.symbols.size() < env.symbols().size()) scratch.symbols.resize(env.symbols().size());
}

}  // namespace

Result<GuardTree> GuardTree::build(GuardSet set, ShapeEnv env) {
  GuardTree tree;
  tree.set_ = std::move(set);
  tree.env_ = std::move(env);
  put_in_order(tree.set_, tree.env_);
  SUTURE_TRY_VOID(verify(tree.set_, tree.env_));
  for (Guard& guard : tree.set_.guards) weaken(guard);
  tree.program_ = GuardProgram::build(tree.set_, tree.env_);
  return tree;
}

int GuardTree::refusing(const FrameInput& input, GuardScratch& scratch) const noexcept {
  prepare(scratch, set_, env_);
  return program_.run(set_, env_, input, scratch);
}

bool GuardTree::measure(const FrameInput& input, GuardScratch& scratch, std::vector<double>& ns) const {
  if (!matches(input, scratch)) return false;
  ns.resize(set_.guards.size());
  return program_.measure(set_, env_, input, scratch, ns);
}

std::vector<int64_t> GuardTree::tested(int64_t passes, std::span<const int64_t> failures) const {
  const std::vector<int> positions = program_.positions(set_.guards.size());
  std::vector<int64_t> times(positions.size(), passes);
  for (size_t i = 0; i < times.size(); ++i)
    for (size_t j = 0; j < failures.size(); ++j)
      if (positions[j] >= positions[i]) times[i] += failures[j];
  return times;
}

int GuardTree::evaluate(const FrameInput& input, GuardScratch& scratch) const noexcept {
  if (matches(input, scratch)) return -1;
  for (size_t i = 0; i < set_.guards.size(); ++i) {
    const Guard& guard = set_.guards[i];
    PyObject* value = fetch(set_.sources, guard.source, input);
    PyObject* other = fetch(set_.sources, guard.other, input);
    if (guard.source != kNoSource) scratch.slots[static_cast<size_t>(guard.source)] = value;
    if (!check_guard(guard, env_, value, other, scratch.symbols)) return static_cast<int>(i);
  }
  return -1;
}

std::vector<int> GuardTree::failing(const FrameInput& input) const {
  std::vector<int> found;
  std::vector<int64_t> symbols(env_.symbols().size());
  std::vector<char> unreachable(static_cast<size_t>(set_.sources.size()));
  bool all_bound = true;
  for (size_t i = 0; i < set_.guards.size(); ++i) {
    const Guard& guard = set_.guards[i];
    if (guard.kind == GuardKind::kShape && !all_bound) continue;
    PyObject* value = fetch(set_.sources, guard.source, input);
    PyObject* other = fetch(set_.sources, guard.other, input);
    const bool holds = check_guard(guard, env_, value, other, symbols);
    if (!holds && guard.symbol >= 0) all_bound = all_bound && bound_value(guard, value).has_value();
    if (holds || (value == nullptr && guard.source != kNoSource &&
                  std::exchange(unreachable[static_cast<size_t>(guard.source)], 1)))
      continue;
    found.push_back(static_cast<int>(i));
  }
  return found;
}

GuardFailure GuardTree::explain_failure(int guard_index, const FrameInput& input) const {
  std::vector<int64_t> symbols(env_.symbols().size());
  for (const Guard& guard : set_.guards) {
    if (guard.symbol < 0) continue;
    symbols[static_cast<size_t>(guard.symbol)] =
        bound_value(guard, fetch(set_.sources, guard.source, input)).value_or(0);
  }
  const Guard& guard = set_.guards[static_cast<size_t>(guard_index)];
  return guard_failure(guard, set_, env_, fetch(set_.sources, guard.source, input),
                       fetch(set_.sources, guard.other, input), symbols);
}

std::string GuardTree::describe(int guard) const {
  return guard_check_text(set_.guards[static_cast<size_t>(guard)], set_, env_);
}

int GuardTree::traverse(visitproc visit, void* arg) const {
  for (const Guard& guard : set_.guards) Py_VISIT(guard.object.get());
  return set_.sources.traverse(visit, arg);
}

void GuardTree::clear() {
  program_ = {};
  // Moved out first: dropping a reference may run code that comes back here.
  GuardSet dropped = std::move(set_);
  set_ = {};
  env_ = {};
}

}  // namespace suture
