#include "capture/side_effects.h"

#include <algorithm>
#include <cstdlib>

#include <set>

#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {
namespace {

bool add_effect(Capture& out, SideEffect::Kind kind, RecipeId target, std::optional<RecipeId> value,
                std::string name) {
  if (!value) return false;
  SideEffect effect;
  effect.kind = kind;
  effect.target = target;
  effect.value = *value;
  effect.name = std::move(name);
  out.side_effects.push_back(std::move(effect));
  return true;
}

// What the dict lost, then what it got: a key that was deleted and stored again has moved to the end. Other
// entries are left alone, and nobody sees the dict without them.
bool write_dict_changes(RecipeWriter& writer, const DictValue& dict, RecipeId target, Capture& out) {
  PyRef deleted = PyRef::steal(PySet_New(nullptr));
  for (const PyRef& key : dict.removed) {
    const bool was_there = PyDict_Contains(dict.object.get(), key.get()) == 1;
    if (!was_there || PySet_Contains(deleted.get(), key.get()) != 0) continue;
    PySet_Add(deleted.get(), key.get());
    SideEffect effect{SideEffect::Kind::kDictDelete, target, writer.constant(key.get())};
    out.side_effects.push_back(std::move(effect));
  }
  for (const auto& [key, value] : dict.items) {
    const auto is_it = [&k = key](const PyRef& stored) { return stored.get() == k.get(); };
    if (std::none_of(dict.stored.begin(), dict.stored.end(), is_it)) continue;
    const auto id = writer.write(value);
    if (!id) return false;
    out.side_effects.push_back({SideEffect::Kind::kDictStore, target, writer.constant(key.get()), *id});
  }
  return true;
}

bool write_mutated(RecipeWriter& writer, const ValueRef& value, Capture& out) {
  using Kind = SideEffect::Kind;
  const RecipeId target = writer.source(value->source);
  if (auto* instance = as_instance(value)) {
    for (const auto& [name, stored] : instance->written)
      if (!add_effect(out, Kind::kStoreAttr, target, writer.write(stored), name)) return false;
    return true;
  }
  if (auto* cell = as_cell(value))
    return add_effect(out, Kind::kStoreCell, target, writer.write(cell->contents), "");
  if (auto* dict = as_dict(value)) return write_dict_changes(writer, *dict, target, out);
  return add_effect(out, Kind::kListAssign, target, writer.write_contents(value), "");
}

void guard_pair(CaptureState& state, GuardKind kind, SourceId a, SourceId b) {
  Guard g;
  g.kind = kind;
  g.source = a;
  g.other = b;
  state.guard(std::move(g));
}

void guard_flag(CaptureState& state, SourceId source, bool writeable) {
  Guard g;
  g.kind = GuardKind::kWriteable;
  g.source = source;
  g.number = writeable ? 1 : 0;
  state.guard(std::move(g));
}

// Python floats and NumPy scalars are graph values too, but they have no memory that a store could reach.
std::vector<ValueRef> input_arrays(const CaptureState& state) {
  std::vector<ValueRef> arrays;
  for (const ValueRef& value : state.known_values())
    if (as_array(value) && !state.graph.node(as_array(value)->node).type.scalar()) arrays.push_back(value);
  return arrays;
}

// Placeholders whose memory some store writes.
std::set<NodeId> written_inputs(const Graph& graph) {
  std::set<NodeId> roots;
  for (const Node& node : graph.nodes) {
    if (node.op != OpId::kStore) continue;
    const NodeId root = graph.storage_of(node.operands[0]);
    if (graph.node(root).op == OpId::kPlaceholder) roots.insert(root);
  }
  return roots;
}

// Some element may stand at two indices: axes by stride, each step must pass everything the smaller axes span.
bool may_overlap_itself(PyView array) {
  const ArrayFacts facts = array_facts(array);
  std::vector<std::pair<int64_t, int64_t>> axes;  // |stride|, extent
  for (int i = 0; i < facts.ndim; ++i) {
    if (facts.shape[i] == 0) return false;
    if (facts.shape[i] > 1) axes.emplace_back(std::abs(facts.strides[i]), facts.shape[i]);
  }
  std::sort(axes.begin(), axes.end());
  int64_t span = facts.dtype ? itemsize(*facts.dtype) : 1;
  for (const auto& [stride, extent] : axes) {
    if (stride < span) return true;
    span += stride * (extent - 1);
  }
  return false;
}

// The variables of the frame are not another name for a dict that it looks at.
void guard_against_globals(CaptureState& state) {
  const auto is_written = [&](const ValueRef& dict) { return as_dict(dict)->mutated; };
  for (const ValueRef& value : state.known_values()) {
    if (!as_dict(value) || !(is_written(value) || !state.global_writes.empty())) continue;
    const SourceId function = state.source(SourceKind::kFunction, kNoSource);
    guard_pair(state, GuardKind::kNotSameObject, value->source,
               state.source(SourceKind::kGlobalsOf, function));
  }
}

// An instance whose attributes are looked at, and its own __dict__, of which one is written.
bool dict_is_of_instance(const CaptureState& state) {
  for (const ValueRef& dict : state.known_values()) {
    if (!as_dict(dict)) continue;
    for (const ValueRef& instance : state.known_values()) {
      if (!as_instance(instance)) continue;
      const bool written = as_dict(dict)->mutated || !as_instance(instance)->written.empty();
      if (written && is_dict_of(as_dict(dict)->object.get(), as_instance(instance)->object.get()))
        return true;
    }
  }
  return false;
}

}  // namespace

namespace {

// A new iterator somewhere in the value.
bool has_iterator(const Capture& out, RecipeId id) {
  if (id < 0) return false;
  const Recipe& recipe = out.recipes[static_cast<size_t>(id)];
  return recipe.kind == Recipe::Kind::kIterator ||
         std::any_of(recipe.children.begin(), recipe.children.end(),
                     [&](RecipeId child) { return has_iterator(out, child); });
}

}  // namespace

// Values are made before the first effect, and an iterator would not know the dict that an effect changes.
bool write_side_effects(CaptureState& state, RecipeWriter& writer, Capture& out) {
  const bool changes_dict = std::any_of(state.mutated.begin(), state.mutated.end(),
                                        [](const ValueRef& value) { return as_dict(value) != nullptr; });
  for (const ValueRef& value : state.mutated)
    if (!write_mutated(writer, value, out)) return false;
  for (const auto& [name, value] : state.global_writes)
    if (!add_effect(out, SideEffect::Kind::kStoreGlobal, -1, writer.write(value), name)) return false;
  for (const SideEffect& effect : out.side_effects)
    if (changes_dict && has_iterator(out, effect.value))
      return writer.fail("an iterator is stored while a dict changes").has_value();
  return true;
}

bool guard_side_effects(CaptureState& state) {
  guard_against_globals(state);
  if (dict_is_of_instance(state)) return false;
  for (const ValueRef& changed : state.mutated) {
    for (const ValueRef& other : state.known_values()) {
      if (other != changed && other->kind == changed->kind)
        guard_pair(state, GuardKind::kNotSameObject, changed->source, other->source);
    }
  }
  const std::vector<ValueRef> arrays = input_arrays(state);
  const std::set<NodeId> written = written_inputs(state.graph);
  for (const ValueRef& array : arrays) {
    const NodeId node = as_array(array)->node;
    if (!written.contains(node)) continue;
    guard_flag(state, array->source, true);
    PyView object = fetch(state.guards.sources, array->source, state.input);
    if (object && is_any_ndarray(object) && may_overlap_itself(object)) return false;
    for (const ValueRef& other : arrays) {
      if (other == array || (written.contains(as_array(other)->node) && as_array(other)->node < node))
        continue;
      PyView other_object = fetch(state.guards.sources, other->source, state.input);
      if (!object || !other_object || shares_memory_exact(object, other_object)) return false;
      guard_pair(state, GuardKind::kNoOverlap, array->source, other->source);
    }
  }
  // A view handed out inherits the flag of the array it looks into.
  for (NodeId output : state.graph.outputs) {
    const NodeId root = state.graph.storage_of(output);
    if (root == output || written.contains(root)) continue;
    for (const ValueRef& array : arrays)
      if (as_array(array)->node == root)
        guard_flag(state, array->source, state.graph.node(root).type.writeable);
  }
  return true;
}

}  // namespace suture
