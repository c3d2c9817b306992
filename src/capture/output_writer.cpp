#include "capture/output_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "cpython/code_object.h"
#include "cpython/objects.h"

namespace suture {
namespace {

CodeView transformed_header(const CodeView& original, const std::string& name) {
  CodeView header = original;
  const size_t dot = header.qualname.rfind('.');
  header.qualname = (dot == std::string::npos ? "" : header.qualname.substr(0, dot + 1)) + name;
  header.name = name;
  header.arg_count = original.parameter_count();
  header.posonly_count = header.kwonly_count = 0;
  header.flags &= ~(kCodeVarArgs | kCodeVarKeywords);
  return header;
}

// Objects that may be constants of a code object: immutable, and unable to be part of a reference cycle.
bool is_constant_object(PyView o) {
  if (o == Py_None || o == Py_Ellipsis || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) ||
      PyComplex_CheckExact(o) || PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyCode_Check(o)) {
    return true;
  }
  if (!PyTuple_CheckExact(o)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    if (!is_constant_object(PyTuple_GET_ITEM(o, i))) return false;
  }
  return true;
}

}  // namespace

Result<PyRef> make_named_function(Function function, PyView constants, PyView like, PyView closure_or_null) {
  const CodeView ours = function.code;
  SUTURE_TRY(user, code_view(function_code(like)));
  function.code.name = user.name;
  function.code.qualname = user.qualname;
  SUTURE_TRY(code, make_code_object(function, constants));
  SUTURE_TRY(made, make_function(code.get(), like, closure_or_null));
  PyRef name = PyRef::steal(PyUnicode_FromString(ours.name.c_str()));
  PyRef qualname = PyRef::steal(PyUnicode_FromString(ours.qualname.c_str()));
  if (!name || !qualname || PyObject_SetAttrString(made.get(), "__name__", name.get()) < 0 ||
      PyObject_SetAttrString(made.get(), "__qualname__", qualname.get()) < 0)
    return Error::python("output");
  return made;
}

OutputWriter::OutputWriter(const Capture& capture, PyView original_function, const std::string& name)
    : capture_(capture),
      function_(original_function),
      code_(transformed_header(capture.function.code, name)),
      uses_(capture.recipes.size(), 0) {
  const CodeView& view = capture.function.code;
  for (size_t i = 0; i < view.local_names.size(); ++i)
    slots_.push_back(
        {view.local_names[i], view.local_kinds[i], static_cast<int>(i) < view.parameter_count()});
  PyRef constants = code_constants(function_code(original_function));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(constants.get()); ++i)
    constants_.push_back(PyRef::borrow(PyTuple_GET_ITEM(constants.get(), i)));
}

int OutputWriter::new_temporary(const std::string& name) {
  std::string unique = name;
  const auto taken = [&](const Slot& slot) { return slot.name == unique; };
  for (int n = 1; std::any_of(slots_.begin(), slots_.end(), taken); ++n)
    unique = fmt::format("{}_{}", name, n);
  slots_.push_back({unique, kLocalPlain, false});
  return static_cast<int>(slots_.size()) - 1;
}

int OutputWriter::slot_of(RecipeId id) const {
  if (auto found = held_.find(id); found != held_.end()) return found->second;
  const Recipe& r = recipe(id);
  if (r.kind == Recipe::Kind::kGraphOutput) return graph_outputs_.at(r.index);
  return r.kind == Recipe::Kind::kSource || r.kind == Recipe::Kind::kSymInt ? entry_slot(r) : -1;
}

std::vector<int> OutputWriter::filled_slots() const {
  std::vector<int> filled;
  for (size_t i = 0; i < slots_.size(); ++i) {
    const int slot = static_cast<int>(i);
    const bool plain = slots_[i].kind == kLocalPlain && !overwritten_.contains(slot);
    if (plain && (slots_[i].parameter || stored_.contains(slot))) filled.push_back(slot);
  }
  return filled;
}

int OutputWriter::free_slot(int closure_index) const {
  for (size_t i = 0; i < original().code.local_kinds.size(); ++i) {
    if (original().code.local_kinds[i] & kLocalFree && closure_index-- == 0) return static_cast<int>(i);
  }
  return -1;
}

int OutputWriter::add_constant(const PyRef& object) {
  for (size_t i = 0; i < constants_.size(); ++i) {
    if (constants_[i].get() == object.get()) return static_cast<int>(i);
  }
  constants_.push_back(object);
  return code_.add_constant(short_repr(object.get()));
}

int OutputWriter::captured_slot(const PyRef& object, const std::string& name) {
  for (const Captured& captured : captured_) {
    if (captured.object.get() == object.get()) return captured.slot;
  }
  const int slot = new_temporary(name);
  slots_.back().kind = kLocalFree;
  captured_.push_back({slot, object});
  return slot;
}

void OutputWriter::push_object(const PyRef& object, const std::string& name) {
  if (is_constant_object(object.get()))
    code_.emit(Opcode::LOAD_CONST, add_constant(object));
  else
    code_.emit(Opcode::LOAD_DEREF, captured_slot(object, name));
}

void OutputWriter::push_int(int64_t number) { push_object(PyRef::steal(PyLong_FromLongLong(number)), ""); }
void OutputWriter::push_none() { push_object(PyRef::borrow(Py_None), ""); }

// CPython's order: parameters, other plain locals, cells, the original's free variables, then ours.
std::vector<int> OutputWriter::final_order() const {
  std::vector<int> order(slots_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto rank = [&](int slot) {
    const Slot& s = slots_[static_cast<size_t>(slot)];
    return s.parameter ? 0 : s.kind & kLocalFree ? 3 : s.kind & kLocalCell ? 2 : 1;
  };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
  return order;
}

// What debuggers and tracebacks show of the frame: a slot that has the value of a variable of the user's, which has no
// slot of its own here, is called as the variable.
void OutputWriter::name_after_variables(const std::vector<bool>& used) {
  const size_t variables = original().code.local_names.size();
  std::vector<bool> named(slots_.size(), false);
  for (const auto& [local, id] : capture_.end.locals) {
    const Slot& variable = slots_[static_cast<size_t>(local)];
    if (is_unbound(id) || variable.kind != kLocalPlain || variable.parameter ||
        used[static_cast<size_t>(local)])
      continue;
    const int slot = slot_of(id);
    if (slot < static_cast<int>(variables) || named[static_cast<size_t>(slot)]) continue;
    slots_[static_cast<size_t>(slot)].name = variable.name;
    named[static_cast<size_t>(slot)] = true;
  }
}

void OutputWriter::renumber(Function& function) {
  std::vector<bool> used(slots_.size(), false);
  const auto local_of = [&](const Instruction& i) {
    const OpcodeInfo* info = opcode_info(function.code.version, i.opcode);
    return info != nullptr && (info->operand == Operand::kLocal || info->operand == Operand::kCell);
  };
  for (const Instruction& i : function.instructions) {
    if (local_of(i)) used[static_cast<size_t>(i.arg)] = true;
  }
  name_after_variables(used);
  std::vector<int> position(slots_.size(), -1);
  function.code.local_names.clear();
  function.code.local_kinds.clear();
  for (int slot : final_order()) {
    const Slot& s = slots_[static_cast<size_t>(slot)];
    if (!s.parameter && !(s.kind & kLocalFree) && !used[static_cast<size_t>(slot)]) continue;
    // A parameter that is a cell variable of the original is one here only when this code makes its cell.
    const bool plain = s.kind & kLocalCell && s.parameter && !cells_used_.count(slot) &&
                       !holds_cell_at_entry(original(), slot);
    position[static_cast<size_t>(slot)] = static_cast<int>(function.code.local_names.size());
    function.code.local_names.push_back(s.name);
    function.code.local_kinds.push_back(plain ? uint8_t{kLocalPlain} : s.kind);
  }
  for (Instruction& i : function.instructions) {
    if (local_of(i)) i.arg = position[static_cast<size_t>(i.arg)];
  }
}

PyRef OutputWriter::closure() const {
  PyView old = function_closure(function_);
  const Py_ssize_t kept = old != nullptr ? PyTuple_GET_SIZE(old) : 0;
  PyRef tuple = PyRef::steal(PyTuple_New(kept + static_cast<Py_ssize_t>(captured_.size())));
  if (!tuple) return {};
  for (Py_ssize_t i = 0; i < kept; ++i)
    PyTuple_SET_ITEM(tuple.get(), i, PyRef::borrow(PyTuple_GET_ITEM(old, i)).release());
  for (size_t i = 0; i < captured_.size(); ++i) {
    PyObject* cell = PyCell_New(captured_[i].object.get());
    if (cell == nullptr) return {};
    PyTuple_SET_ITEM(tuple.get(), kept + static_cast<Py_ssize_t>(i), cell);
  }
  return tuple;
}

Result<OutputWriter::Made> OutputWriter::finish() {
  // Until here the parameters were those of the original.
  code_.header().arg_count += static_cast<int>(entry_values_.size());
  SUTURE_TRY(function, code_.finish());
  // The number of free variables is known only now; finish_prologue left room for it.
  const auto frees =
      std::count_if(slots_.begin(), slots_.end(), [](const Slot& s) { return s.kind & kLocalFree; });
  std::vector<Instruction>& all = function.instructions;
  if (frees > 0)
    all[0].arg = static_cast<int>(frees);
  else
    all[0].opcode = Opcode::NOP;
  renumber(function);
  PyRef tuple = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(constants_.size())));
  PyRef cells = closure();
  if (!tuple || !cells) return Error::python("output");
  for (size_t i = 0; i < constants_.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), PyRef(constants_[i]).release());
  SUTURE_TRY(made, make_named_function(function, tuple.get(), function_, cells.get()));
  SUTURE_TRY(view, code_view(function_code(made.get())));
  view.name = function.code.name;
  SUTURE_TRY(listed, decode_function(view));
  Made result{std::move(made), std::move(listed), {}};
  for (EntryValue& value : entry_values_) result.entry_values.push_back(std::move(value.recipe));
  return result;
}

}  // namespace suture
