// Building and running the flat guard program.
#include "guard/guard_program.h"

#include <algorithm>
#include <ranges>

#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/objects.h"
#include "guard/guard_check.h"

namespace suture {

namespace {

bool is_array_fact(GuardKind kind) {
  switch (kind) {
    case GuardKind::kArray:
    case GuardKind::kDtype:
    case GuardKind::kRank:
    case GuardKind::kSize:
    case GuardKind::kStride:
    case GuardKind::kContiguous:
    case GuardKind::kWriteable: return true;
    default: return false;
  }
}

auto guards_on(const GuardSet& set, SourceId source) {
  return set.guards | std::views::filter([source](const Guard& guard) { return guard.source == source; });
}

// The fused operation has room for one dtype, rank and writeable flag, and the axes of sizes and strides are
// valid only under the rank that is guarded too. Anything else is tested guard by guard.
bool can_fuse_array(const GuardSet& set, SourceId source) {
  int arrays = 0, dtypes = 0, ranks = 0, writeables = 0;
  int64_t rank = 0;
  for (const Guard& guard : guards_on(set, source)) {
    arrays += guard.kind == GuardKind::kArray;
    dtypes += guard.kind == GuardKind::kDtype;
    writeables += guard.kind == GuardKind::kWriteable;
    ranks += guard.kind == GuardKind::kRank;
    if (guard.kind == GuardKind::kRank) rank = guard.number;
  }
  if (arrays == 0 || dtypes != 1 || ranks != 1 || writeables > 1) return false;
  return std::ranges::all_of(guards_on(set, source), [rank](const Guard& guard) {
    const bool has_axis = guard.kind == GuardKind::kSize || guard.kind == GuardKind::kStride;
    return !has_axis || (guard.index >= 0 && guard.index < rank);
  });
}

// The module a source stands for at every call, or null: the object itself, or one compared by identity.
PyView pinned_module(const GuardSet& set, SourceId id) {
  if (id == kNoSource) return nullptr;
  const Source& source = set.sources[id];
  PyView object = source.kind == SourceKind::kObject ? source.key.get() : nullptr;
  for (const Guard& guard : guards_on(set, id))
    if (guard.kind == GuardKind::kIdentity && !guard.weak) object = guard.object.get();
  return object && PyModule_CheckExact(object) ? object : nullptr;
}

// The module whose dict decides about an identity guard; null when something else does, too.
PyView module_of(const GuardSet& set, const Guard& guard) {
  if (guard.kind != GuardKind::kIdentity || guard.weak) return nullptr;
  const Source& source = set.sources[guard.source];
  const bool in_dict = source.kind == SourceKind::kAttr && !source.name.starts_with('_');
  return in_dict ? pinned_module(set, source.parent) : nullptr;
}

}  // namespace

struct GuardProgram::Builder {
  const GuardSet& set;
  GuardProgram program;
  std::vector<char> fetched;
  std::vector<char> fused;
  std::vector<PyView> modules;  // of program.modules_

  explicit Builder(const GuardSet& guard_set)
      : set(guard_set), fetched(static_cast<size_t>(guard_set.sources.size())), fused(fetched) {}

  void fetch(SourceId id) {
    if (id == kNoSource || fetched[static_cast<size_t>(id)]) return;
    fetched[static_cast<size_t>(id)] = 1;
    const Source& source = set.sources[id];
    fetch(source.parent);
    if (source.kind == SourceKind::kLocal) {
      program.operations_.push_back({Code::kFetchLocal, id, source.index});
    } else if (source.kind == SourceKind::kGlobal) {
      program.operations_.push_back({Code::kFetchGlobal, id, -1, source.name_object.get()});
    } else {
      program.operations_.push_back({Code::kFetch, id, source.parent});
    }
  }

  void add_array(SourceId source) {
    if (fused[static_cast<size_t>(source)]) return;
    fused[static_cast<size_t>(source)] = 1;
    ArrayFactsWanted wanted;
    for (const Guard& guard : guards_on(set, source)) add_fact(wanted, guard);
    wanted.flags_mask |= NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEBACKIFCOPY;
    wanted.flags_wanted |= NPY_ARRAY_ALIGNED;
    // Contiguous means whole strides only where NumPy looks at the stride: not for arrays with a size of 0
    // or 1.
    wanted.test_whole_strides = static_cast<int>(wanted.strides.size()) < wanted.ndim;
    program.operations_.push_back({Code::kArray, source, static_cast<int>(program.arrays_.size())});
    program.arrays_.push_back(std::move(wanted));
  }

  static void want_flag(ArrayFactsWanted& wanted, int flag, bool set_or_not) {
    wanted.flags_mask |= flag;
    if (set_or_not) wanted.flags_wanted |= flag;
  }

  static void add_fact(ArrayFactsWanted& wanted, const Guard& guard) {
    switch (guard.kind) {
      case GuardKind::kDtype: wanted.dtype = static_cast<DType>(guard.number); break;
      case GuardKind::kRank: wanted.ndim = static_cast<int>(guard.number); break;
      case GuardKind::kSize: wanted.sizes.push_back({guard.index, guard.number}); break;
      case GuardKind::kStride: wanted.strides.push_back({guard.index, guard.number}); break;
      case GuardKind::kWriteable: want_flag(wanted, NPY_ARRAY_WRITEABLE, guard.number != 0); break;
      case GuardKind::kContiguous:
        want_flag(wanted, guard.number == 'F' ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS, true);
        break;
      default: break;
    }
  }

  void add_module(PyView module) {
    if (std::ranges::find(modules, module) != modules.end()) return;
    modules.push_back(module);
    ModuleAttributes wanted{PyModule_GetDict(module), {}};
    for (const Guard& guard : set.guards)
      if (module_of(set, guard) == module)
        wanted.expected.emplace_back(set.sources[guard.source].name_object.get(), guard.object.get());
    program.operations_.push_back({Code::kModule, -1, static_cast<int>(program.modules_.size())});
    program.modules_.push_back(std::move(wanted));
  }

  void add(const Guard& guard, int index) {
    if (PyView module = module_of(set, guard)) return add_module(module);
    fetch(guard.source);
    fetch(guard.other);
    if (is_array_fact(guard.kind) && can_fuse_array(set, guard.source)) return add_array(guard.source);
    // A class or module compared by identity needs no weak reference, hence no call.
    if (guard.kind == GuardKind::kIdentity && !guard.weak) return add_pointer(Code::kIs, guard);
    if (guard.kind == GuardKind::kType) return add_pointer(Code::kType, guard);
    program.operations_.push_back({Code::kGuard, guard.source, index});
  }

  void add_pointer(Code code, const Guard& guard) {
    program.operations_.push_back({code, guard.source, -1, guard.object.get()});
  }
};

GuardProgram GuardProgram::build(const GuardSet& set, const ShapeEnv&) {
  Builder builder(set);
  for (size_t i = 0; i < set.guards.size(); ++i) builder.add(set.guards[i], static_cast<int>(i));
  return std::move(builder.program);
}

bool GuardProgram::array_matches(const ArrayFactsWanted& wanted, PyObject* value) noexcept {
  if (!is_exact_array(value) || !has_dtype(value, wanted.dtype)) return false;
  const PyArrayObject_fields* fields = array_fields(value);
  if (fields->nd != wanted.ndim || (fields->flags & wanted.flags_mask) != wanted.flags_wanted) return false;
  for (const AxisValue& size : wanted.sizes)
    if (fields->dimensions[size.axis] != size.value) return false;
  for (const AxisValue& stride : wanted.strides)
    if (fields->strides[stride.axis] != stride.value) return false;
  return !wanted.test_whole_strides || has_whole_strides(value, PyDataType_ELSIZE(fields->descr));
}

bool GuardProgram::module_matches(const ModuleAttributes& wanted) noexcept {
  const uint64_t version = dict_version(wanted.dict);
  if (version != 0 && version == wanted.version) return true;
  for (const auto& [name, object] : wanted.expected) {
    if (PyDict_GetItemWithError(wanted.dict, name) == object) continue;
    discard_error();
    return false;
  }
  wanted.version = version;
  return true;
}

bool GuardProgram::run(const GuardSet& set, const ShapeEnv& env, const FrameInput& input,
                       GuardScratch& scratch) const noexcept {
  PyObject** slots = scratch.slots.data();
  for (const Operation& op : operations_) {
    switch (op.code) {
      case Code::kFetchLocal:
        if (static_cast<size_t>(op.number) >= input.arguments.size()) return false;
        slots[op.slot] = input.arguments[static_cast<size_t>(op.number)];
        if (slots[op.slot] == nullptr) return false;
        break;
      case Code::kFetchGlobal:
        slots[op.slot] = PyDict_GetItemWithError(function_globals(input.function), op.object);
        if (slots[op.slot] == nullptr) return discard_error(), false;
        break;
      case Code::kFetch:
        slots[op.slot] = fetch_step(set.sources[op.slot], op.number < 0 ? nullptr : slots[op.number], input);
        if (slots[op.slot] == nullptr) return false;
        break;
      case Code::kArray:
        if (!array_matches(arrays_[static_cast<size_t>(op.number)], slots[op.slot])) return false;
        break;
      case Code::kModule:
        if (!module_matches(modules_[static_cast<size_t>(op.number)])) return false;
        break;
      case Code::kIs:
        if (slots[op.slot] != op.object) return false;
        break;
      case Code::kType:
        if (reinterpret_cast<PyObject*>(Py_TYPE(slots[op.slot])) != op.object) return false;
        break;
      case Code::kGuard: {
        const Guard& guard = set.guards[static_cast<size_t>(op.number)];
        PyObject* value = guard.source == kNoSource ? nullptr : slots[guard.source];
        PyObject* other = guard.other == kNoSource ? nullptr : slots[guard.other];
        if (!check_guard(guard, env, value, other, scratch.symbols)) return false;
        break;
      }
    }
  }
  return true;
}

}  // namespace suture
