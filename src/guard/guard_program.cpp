// Building and running the flat guard program.
#include "guard/guard_program.h"

#include <algorithm>
#include <chrono>
#include <ranges>

#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"
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
    case GuardKind::kNewStrides:
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

  void add_operation(GuardProgram::Operation op, std::vector<int> guards) {
    op.guard = guards.front();
    program.operations_.push_back(op);
    program.guards_.push_back(std::move(guards));
  }

  void fetch(SourceId id, int guard) {
    if (id == kNoSource || fetched[static_cast<size_t>(id)]) return;
    fetched[static_cast<size_t>(id)] = 1;
    const Source& source = set.sources[id];
    fetch(source.parent, guard);
    if (source.kind == SourceKind::kLocal) {
      add_operation({Code::kFetchLocal, id, source.index}, {guard});
    } else if (source.kind == SourceKind::kGlobal) {
      add_operation({Code::kFetchGlobal, id, -1, -1, source.name_object.get()}, {guard});
    } else {
      add_operation({Code::kFetch, id, source.parent}, {guard});
    }
  }

  template <class Wanted>
  std::vector<int> indices(Wanted wanted) const {
    std::vector<int> found;
    for (size_t i = 0; i < set.guards.size(); ++i)
      if (wanted(set.guards[i])) found.push_back(static_cast<int>(i));
    return found;
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
    add_operation({Code::kArray, source, static_cast<int>(program.arrays_.size())},
                  indices([source](const Guard& g) { return g.source == source && is_array_fact(g.kind); }));
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
      case GuardKind::kNewStrides: wanted.new_strides = guard.number == 'F' ? 'F' : 'C'; break;
      default: break;
    }
  }

  void add_module(PyView module) {
    if (std::ranges::find(modules, module) != modules.end()) return;
    modules.push_back(module);
    ModuleAttributes wanted{module, {}};
    for (const Guard& guard : set.guards)
      if (module_of(set, guard) == module)
        wanted.expected.emplace_back(set.sources[guard.source].name_object.get(), guard.object.get());
    add_operation({Code::kModule, -1, static_cast<int>(program.modules_.size())},
                  indices([this, module](const Guard& g) { return module_of(set, g) == module; }));
    program.modules_.push_back(std::move(wanted));
  }

  void add(const Guard& guard, int index) {
    if (PyView module = module_of(set, guard)) return add_module(module);
    fetch(guard.source, index);
    fetch(guard.other, index);
    if (is_array_fact(guard.kind) && can_fuse_array(set, guard.source)) return add_array(guard.source);
    // A class or module compared by identity needs no weak reference, hence no call.
    if (guard.kind == GuardKind::kIdentity && !guard.weak) return add_pointer(Code::kIs, index);
    if (guard.kind == GuardKind::kType) return add_pointer(Code::kType, index);
    add_operation({Code::kGuard, guard.source, index}, {index});
  }

  void add_pointer(Code code, int index) {
    const Guard& guard = set.guards[static_cast<size_t>(index)];
    add_operation({code, guard.source, -1, index, guard.object.get()}, {index});
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
  if (wanted.new_strides != 0 && !has_new_strides(value, wanted.new_strides)) return false;
  return !wanted.test_whole_strides || has_whole_strides(value, PyDataType_ELSIZE(fields->descr));
}

bool GuardProgram::module_matches(const ModuleAttributes& wanted) noexcept {
  if (!PyModule_CheckExact(wanted.module)) return false;  // it was given another class
  PyView dict = PyModule_GetDict(wanted.module);
  const uint64_t version = dict_version(dict);
  if (version != 0 && version == wanted.version) return true;
  for (const auto& [name, object] : wanted.expected) {
    if (PyDict_GetItemWithError(dict, name) == object) continue;
    discard_error();
    return false;
  }
  wanted.version = version;
  return true;
}

int GuardProgram::walk(const Operation* first, const Operation* last, const GuardSet& set,
                       const ShapeEnv& env, const FrameInput& input, GuardScratch& scratch) const noexcept {
  PyObject** slots = scratch.slots.data();
  const Operation* at = first;
  for (; at != last; ++at) {
    const Operation& op = *at;
    switch (op.code) {
      case Code::kFetchLocal:
        if (static_cast<size_t>(op.number) >= input.arguments.size()) goto failed;
        slots[op.slot] = input.arguments[static_cast<size_t>(op.number)];
        if (slots[op.slot] == nullptr) goto failed;
        break;
      case Code::kFetchGlobal:
        slots[op.slot] = PyDict_GetItemWithError(function_globals(input.function), op.object);
        if (slots[op.slot] == nullptr) goto failed;
        break;
      case Code::kFetch:
        slots[op.slot] = fetch_step(set.sources[op.slot], op.number < 0 ? nullptr : slots[op.number], input);
        if (slots[op.slot] == nullptr) goto failed;
        break;
      case Code::kArray:
        if (!array_matches(arrays_[static_cast<size_t>(op.number)], slots[op.slot])) goto failed;
        break;
      case Code::kModule:
        if (!module_matches(modules_[static_cast<size_t>(op.number)])) goto failed;
        break;
      case Code::kIs:
        if (slots[op.slot] != op.object) goto failed;
        break;
      case Code::kType:
        if (reinterpret_cast<PyObject*>(Py_TYPE(slots[op.slot])) != op.object) goto failed;
        break;
      case Code::kGuard: {
        const Guard& guard = set.guards[static_cast<size_t>(op.number)];
        PyObject* value = guard.source == kNoSource ? nullptr : slots[guard.source];
        PyObject* other = guard.other == kNoSource ? nullptr : slots[guard.other];
        if (!check_guard(guard, env, value, other, scratch.symbols)) goto failed;
        break;
      }
    }
  }
  return -1;
failed:
  return refused(*at, set, env, scratch);
}

// Which part of a failed operation it was. check_guard agrees with the program, so one of several parts fails; should an
// object have changed meanwhile, the first stands for all.
int GuardProgram::refused(const Operation& op, const GuardSet& set, const ShapeEnv& env,
                          GuardScratch& scratch) const noexcept {
  discard_error();
  if (op.code != Code::kArray && op.code != Code::kModule) return op.guard;
  for (const int index : guards_[static_cast<size_t>(&op - operations_.data())]) {
    const Guard& guard = set.guards[static_cast<size_t>(index)];
    if (op.code == Code::kModule) {
      const auto& source = set.sources[guard.source];
      PyView module = modules_[static_cast<size_t>(op.number)].module;
      if (!PyModule_CheckExact(module)) return op.guard;  // it was given another class
      PyView found = PyDict_GetItemWithError(PyModule_GetDict(module), source.name_object.get());
      if (found == nullptr) discard_error();
      if (found != guard.object.get()) return index;
    } else if (!check_guard(guard, env, scratch.slots[static_cast<size_t>(op.slot)], nullptr,
                            scratch.symbols)) {
      return index;
    }
  }
  return op.guard;
}

std::vector<int> GuardProgram::positions(size_t guards) const {
  std::vector<int> out(guards, -1);
  for (size_t i = 0; i < guards_.size(); ++i)
    for (const int guard : guards_[i]) out[static_cast<size_t>(guard)] = static_cast<int>(i);
  return out;
}

bool GuardProgram::measure(const GuardSet& set, const ShapeEnv& env, const FrameInput& input,
                           GuardScratch& scratch, std::vector<double>& ns) const noexcept {
  constexpr int kRepeats = 8;
  using Clock = std::chrono::steady_clock;
  const auto elapsed = [](Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
  };
  double clock = elapsed(Clock::now());  // what reading the clock itself takes
  for (int i = 0; i < kRepeats; ++i) clock = std::min(clock, elapsed(Clock::now()));
  std::ranges::fill(ns, 0.0);
  for (size_t i = 0; i < operations_.size(); ++i) {
    const Operation& op = operations_[i];
    const auto holds = [&] { return walk(&op, &op + 1, set, env, input, scratch) < 0; };
    if (!holds()) return false;
    bool still = true;
    const Clock::time_point begin = Clock::now();
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
      asm volatile("" ::: "memory");  // each repeat reads again
      still &= holds();
    }
    const double spent = std::max(0.0, elapsed(begin) - clock) / kRepeats;
    if (!still) return false;
    for (const int guard : guards_[i])
      ns[static_cast<size_t>(guard)] += spent / static_cast<double>(guards_[i].size());
  }
  return true;
}

}  // namespace suture
