// Building recipes: see OutputWriter. A recipe that occurs twice is built once, because it is ONE object.
#include <fmt/format.h>

#include "bytecode/output_names.h"
#include "capture/known_modules.h"
#include "capture/output_writer.h"
#include "cpython/objects.h"

namespace suture {
namespace {

using Kind = Recipe::Kind;

PyRef type_ref(PyTypeObject& type) { return PyRef::borrow(reinterpret_cast<PyObject*>(&type)); }

// Children of kFunction, in order; -1 where there is none.
enum FunctionChild { kGlobals, kDefaults, kKwDefaults, kAnnotations, kFirstCell };

}  // namespace

void OutputWriter::count_use(RecipeId root) {
  if (root < 0) return;
  if (uses_[static_cast<size_t>(root)]++ > 0) return;
  for (RecipeId child : recipe(root).children) count_use(child);
}

bool OutputWriter::graph_output_used(int index) const {
  for (size_t i = 0; i < uses_.size(); ++i) {
    if (uses_[i] > 0 && capture_.recipes[i].kind == Kind::kGraphOutput && capture_.recipes[i].index == index)
      return true;
  }
  return false;
}

// Cheap recipes give the same object at any time and place of the transformed function.
bool OutputWriter::is_cheap(RecipeId id) const {
  const Recipe& r = recipe(id);
  if (held_.count(id)) return true;
  switch (r.kind) {
    case Kind::kGraphOutput:
    case Kind::kConstant:
    case Kind::kNull:
    case Kind::kUnbound: return true;
    case Kind::kSymInt:
    case Kind::kSource: {
      const int slot = slot_of(id);
      return slot < 0 || !overwritten_.count(slot);
    }
    default: return false;
  }
}

bool OutputWriter::is_cell_object(RecipeId id) const {
  if (id < 0) return false;
  const Recipe& r = recipe(id);
  if (r.kind == Kind::kCell) return uses(id) > 1;
  if (r.kind != Kind::kSource) return false;
  const Source& source = capture_.guards.sources[r.source];
  return source.kind == SourceKind::kLocal && holds_cell_at_entry(original(), source.index);
}

Status OutputWriter::push(RecipeId id) {
  if (id < 0) return Error::internal("output", "recipe is missing");
  if (auto found = held_.find(id); found != held_.end()) {
    load(found->second);
    return ok_status();
  }
  SUTURE_TRY_VOID(build_once(id));
  if (uses(id) > 1 && !is_cheap(id)) {
    const int slot = new_temporary(fmt::format("shared_{}", id));
    code_.emit(Opcode::COPY, 1);
    store(slot);
    held_[id] = slot;
  }
  return ok_status();
}

Status OutputWriter::build_once(RecipeId id) {
  if (!building_.insert(id).second)
    return Error::unsupported("output", "an object that refers to itself leaves the frame");
  Status status = build(id);
  building_.erase(id);
  return status;
}

Status OutputWriter::hold(RecipeId id) {
  if (id < 0 || is_cheap(id)) return ok_status();
  SUTURE_TRY_VOID(build_once(id));
  const int slot = new_temporary(fmt::format("kept_{}", id));
  store(slot);
  held_[id] = slot;
  return ok_status();
}

Status OutputWriter::build_sequence(const Recipe& r, Opcode opcode, int count) {
  for (RecipeId child : r.children) SUTURE_TRY_VOID(push(child));
  code_.emit(opcode, count);
  return ok_status();
}

// An iterator that is an argument is made by iter(): no source of Python puts GET_ITER there.
Status OutputWriter::push_argument(RecipeId id) {
  const bool iterator = id >= 0 && recipe(id).kind == Kind::kIterator && uses(id) == 1 && !held_.contains(id);
  if (!iterator) return push(id);
  return build_call(PyRef::borrow(module_object("builtins", "iter")), "__iter", {recipe(id).children.at(0)});
}

Status OutputWriter::build_call(const PyRef& callable, const std::string& name,
                                const std::vector<RecipeId>& arguments) {
  code_.push_null();
  push_object(callable, name);
  for (RecipeId argument : arguments) SUTURE_TRY_VOID(push_argument(argument));
  code_.call(static_cast<int>(arguments.size()));
  return ok_status();
}

// MAKE_FUNCTION gives the function the globals of the transformed code, which are those of the user's
// function; a function from another module (made inside an inlined callee) goes through types.FunctionType.
Status OutputWriter::build_function(const Recipe& r) {
  const auto is_none = [&](RecipeId id) {
    return recipe(id).kind == Kind::kConstant && recipe(id).object.get() == Py_None;
  };
  const auto child = [&](size_t i) {
    const bool there = i < r.children.size() && !is_unbound(r.children[i]) && !is_none(r.children[i]);
    return there ? r.children[i] : -1;
  };
  const int cells = std::max(0, static_cast<int>(r.children.size()) - kFirstCell);
  const auto push_cells = [&]() -> Status {
    for (int i = 0; i < cells; ++i)
      SUTURE_TRY_VOID(push_cell_of(r.children[static_cast<size_t>(kFirstCell + i)]));
    code_.emit(Opcode::BUILD_TUPLE, cells);
    return ok_status();
  };
  const bool foreign =
      child(kGlobals) >= 0 && recipe(child(kGlobals)).kind == Kind::kSource &&
      !(capture_.guards.sources[recipe(child(kGlobals)).source].kind == SourceKind::kGlobalsOf &&
        capture_.guards.sources[capture_.guards.sources[recipe(child(kGlobals)).source].parent].kind ==
            SourceKind::kFunction);
  if (foreign)
    return Error::unsupported("output",
                              "a function made in an inlined callee of another module leaves the frame");
  int flags = 0;
  for (int part : {kDefaults, kKwDefaults, kAnnotations}) {
    const RecipeId id = child(static_cast<size_t>(part));
    if (id < 0) continue;
    SUTURE_TRY_VOID(push(id));
    flags |= 1 << (part - kDefaults);
  }
  if (cells > 0) {
    SUTURE_TRY_VOID(push_cells());
    flags |= 8;
  }
  push_object(r.object, "");
  code_.emit(Opcode::MAKE_FUNCTION, flags);
  return ok_status();
}

Status OutputWriter::build(RecipeId id) {
  const Recipe& r = recipe(id);
  const int count = static_cast<int>(r.children.size());
  switch (r.kind) {
    case Kind::kGraphOutput: {
      const auto found = graph_outputs_.find(r.index);
      if (found == graph_outputs_.end())
        return Error::internal("output", fmt::format("graph output {} is not there", r.index));
      load(found->second);
      return ok_status();
    }
    case Kind::kSource: return push_source(r.source);
    case Kind::kConstant:
      if (!r.object) return Error::internal("output", "constant recipe without an object");
      push_program_object(r.object);
      return ok_status();
    case Kind::kSymInt: return push_symbolic(r);
    case Kind::kTuple: return build_sequence(r, Opcode::BUILD_TUPLE, count);
    case Kind::kList: return build_sequence(r, Opcode::BUILD_LIST, count);
    case Kind::kSet: return build_sequence(r, Opcode::BUILD_SET, count);
    case Kind::kDict: return build_sequence(r, Opcode::BUILD_MAP, count / 2);
    case Kind::kSlice: return build_sequence(r, Opcode::BUILD_SLICE, count);
    case Kind::kRange: return build_call(type_ref(PyRange_Type), "__range", r.children);
    case Kind::kBoundMethod: return build_call(type_ref(PyMethod_Type), "__method", r.children);
    case Kind::kCell: {
      const bool empty = r.children.empty() || is_unbound(r.children[0]);
      return build_call(type_ref(PyCell_Type), std::string(kCellName),
                        empty ? std::vector<RecipeId>{} : r.children);
    }
    case Kind::kIterator:
      SUTURE_TRY_VOID(push(r.children.at(0)));
      code_.emit(Opcode::GET_ITER);
      return ok_status();
    case Kind::kAttribute:
      SUTURE_TRY_VOID(push(r.children.at(0)));
      push_part(r.name.c_str());
      return ok_status();
    case Kind::kCall: {
      code_.push_null();
      for (RecipeId child : r.children) SUTURE_TRY_VOID(push_argument(child));
      if (r.object && PyTuple_GET_SIZE(r.object.get()) > 0)
        code_.emit(Opcode::KW_NAMES, add_constant(r.object));
      code_.call(count - 1);
      return ok_status();
    }
    case Kind::kFunction: return build_function(r);
    case Kind::kNull: code_.push_null(); return ok_status();
    case Kind::kUnbound: return Error::internal("output", "a local without value is used as a value");
  }
  return Error::internal("output", "unknown recipe kind");
}

}  // namespace suture
