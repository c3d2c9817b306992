// See build_value.h. A recipe used twice is one object: everything but the cheap kinds is remembered once
// built.
#include "runtime/build_value.h"

#include <string>

namespace suture {

namespace {

using Kind = Recipe::Kind;

bool is_simple(Kind kind) {
  return kind == Kind::kGraphOutput || kind == Kind::kConstant || kind == Kind::kSymInt ||
         kind == Kind::kSource;
}

class Builder {
 public:
  Builder(const BuildContext& context, std::vector<PyRef>& owned) : context_(context), owned_(owned) {}

  // The value itself is nobody's child, so it needs no place in `built`.
  PyRef build_root(RecipeId id) {
    const Recipe& recipe = context_.recipes[static_cast<size_t>(id)];
    return is_simple(recipe.kind) ? build(id) : make(recipe);
  }

 private:
  PyRef build(RecipeId id) {
    const Recipe& recipe = context_.recipes[static_cast<size_t>(id)];
    switch (recipe.kind) {
      case Kind::kGraphOutput:
        return PyRef::borrow(context_.graph_outputs[static_cast<size_t>(recipe.index)]);
      case Kind::kConstant: return PyRef::borrow(recipe.object.get());
      case Kind::kSymInt: return symbolic_int(recipe.sym, context_.symbols);
      case Kind::kSource: return source(recipe, id);
      default: return remembered(recipe, id);
    }
  }

  PyRef source(const Recipe& recipe, RecipeId id) {
    if (!context_.built.empty() && context_.built[static_cast<size_t>(id)])
      return PyRef::borrow(context_.built[static_cast<size_t>(id)]);
    PyRef value = PyRef::borrow(fetch(context_.sources, recipe.source, context_.input));
    if (!value) PyErr_Format(PyExc_RuntimeError, "'%s' is gone", context_.sources.str(recipe.source).c_str());
    return value;
  }

  PyRef remembered(const Recipe& recipe, RecipeId id) {
    PyObject*& slot = context_.built[static_cast<size_t>(id)];
    if (slot) return PyRef::borrow(slot);
    PyRef made = make(recipe);
    if (made) {
      slot = made.get();
      owned_.push_back(made);
    }
    return made;
  }

  PyRef child(const Recipe& recipe, size_t index) { return build(recipe.children[index]); }

  PyRef make(const Recipe& recipe) {
    switch (recipe.kind) {
      case Kind::kTuple: return tuple(recipe, 0);
      case Kind::kList: return list(recipe);
      case Kind::kSet: return set(recipe);
      case Kind::kDict: return dict(recipe);
      case Kind::kSlice: return slice(recipe);
      case Kind::kRange: return call(reinterpret_cast<PyObject*>(&PyRange_Type), recipe, 0);
      case Kind::kIterator: return from_child(recipe, PyObject_GetIter);
      case Kind::kFunction: return function(recipe);
      case Kind::kCell: return cell(recipe);
      case Kind::kBoundMethod: return call(reinterpret_cast<PyObject*>(&PyMethod_Type), recipe, 0);
      case Kind::kAttribute: return attribute(recipe);
      case Kind::kCall: {
        PyRef callable = child(recipe, 0);
        return callable ? call(callable.get(), recipe, 1) : PyRef();
      }
      default: break;
    }
    PyErr_SetString(PyExc_SystemError, "a frame's value has no object");
    return {};
  }

  PyRef tuple(const Recipe& recipe, size_t first) {
    PyRef made = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(recipe.children.size() - first)));
    for (size_t i = first; made && i < recipe.children.size(); ++i) {
      PyRef item = child(recipe, i);
      if (!item) return {};
      PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i - first), item.release());
    }
    return made;
  }

  PyRef list(const Recipe& recipe) {
    PyRef made = PyRef::steal(PyList_New(static_cast<Py_ssize_t>(recipe.children.size())));
    for (size_t i = 0; made && i < recipe.children.size(); ++i) {
      PyRef item = child(recipe, i);
      if (!item) return {};
      PyList_SET_ITEM(made.get(), static_cast<Py_ssize_t>(i), item.release());
    }
    return made;
  }

  PyRef set(const Recipe& recipe) {
    PyRef made = PyRef::steal(PySet_New(nullptr));
    for (size_t i = 0; made && i < recipe.children.size(); ++i) {
      PyRef item = child(recipe, i);
      if (!item || PySet_Add(made.get(), item.get()) < 0) return {};
    }
    return made;
  }

  PyRef dict(const Recipe& recipe) {
    PyRef made = PyRef::steal(PyDict_New());
    for (size_t i = 0; made && i + 1 < recipe.children.size(); i += 2) {
      PyRef key = child(recipe, i), value = child(recipe, i + 1);
      if (!key || !value || PyDict_SetItem(made.get(), key.get(), value.get()) < 0) return {};
    }
    return made;
  }

  PyRef slice(const Recipe& recipe) {
    PyRef parts[3];
    for (size_t i = 0; i < 3; ++i)
      if (!(parts[i] = i < recipe.children.size() ? child(recipe, i) : PyRef::borrow(Py_None))) return {};
    return PyRef::steal(PySlice_New(parts[0].get(), parts[1].get(), parts[2].get()));
  }

  PyRef call(PyView callable, const Recipe& recipe, size_t first) {
    PyRef arguments = tuple(recipe, first);
    if (!arguments) return {};
    const Py_ssize_t named = recipe.object ? PyTuple_GET_SIZE(recipe.object.get()) : 0;
    return PyRef::steal(PyObject_Vectorcall(
        callable, reinterpret_cast<PyTupleObject*>(arguments.get())->ob_item,
        static_cast<size_t>(PyTuple_GET_SIZE(arguments.get()) - named), recipe.object.get()));
  }

  PyRef from_child(const Recipe& recipe, PyObject* (*convert)(PyObject*)) {
    PyRef value = child(recipe, 0);
    return value ? PyRef::steal(convert(value.get())) : PyRef();
  }

  PyRef attribute(const Recipe& recipe) {
    PyRef owner = child(recipe, 0);
    return owner ? PyRef::steal(PyObject_GetAttrString(owner.get(), recipe.name.c_str())) : PyRef();
  }

  PyRef cell(const Recipe& recipe) {
    const bool empty = recipe.children.empty() ||
                       context_.recipes[static_cast<size_t>(recipe.children[0])].kind == Kind::kUnbound;
    if (empty) return PyRef::steal(PyCell_New(nullptr));
    return from_child(recipe, PyCell_New);
  }

  // Children: globals, defaults, kwdefaults, annotations (each None when absent), cells...
  PyRef function(const Recipe& recipe) {
    constexpr size_t kFirstCell = 4;
    PyRef globals = child(recipe, 0);
    PyRef made = globals ? PyRef::steal(PyFunction_New(recipe.object.get(), globals.get())) : PyRef();
    using Setter = int (*)(PyObject*, PyObject*);
    constexpr Setter kSetters[] = {PyFunction_SetDefaults, PyFunction_SetKwDefaults,
                                   PyFunction_SetAnnotations};
    for (size_t i = 1; made && i < kFirstCell && i < recipe.children.size(); ++i) {
      PyRef part = child(recipe, i);
      if (!part || (part.get() != Py_None && kSetters[i - 1](made.get(), part.get()) < 0)) return {};
    }
    if (!made || recipe.children.size() <= kFirstCell) return made;
    PyRef cells = tuple(recipe, kFirstCell);
    return cells && PyFunction_SetClosure(made.get(), cells.get()) == 0 ? made : PyRef();
  }

  const BuildContext& context_;
  std::vector<PyRef>& owned_;
};

void visit(const std::vector<Recipe>& recipes, RecipeId id, std::vector<char>& seen, auto&& action) {
  if (id < 0 || std::exchange(seen[static_cast<size_t>(id)], 1)) return;
  action(id, recipes[static_cast<size_t>(id)]);
  for (RecipeId child : recipes[static_cast<size_t>(id)].children) visit(recipes, child, seen, action);
}

}  // namespace

PyRef symbolic_int(const SymInt& value, std::span<const int64_t> symbols) {
  if (const std::optional<int64_t> number = value.evaluate(symbols))
    return PyRef::steal(PyLong_FromLongLong(*number));
  PyErr_Format(PyExc_SystemError, "the int %s of a compiled function leaves 64 bits, and no guard said so",
               value.str().c_str());
  return {};
}

ValuePlan ValuePlan::of(const std::vector<Recipe>& recipes, RecipeId value, const SourceTable& table) {
  ValuePlan plan;
  std::vector<char> seen(recipes.size());
  visit(recipes, value, seen, [&](RecipeId id, const Recipe& recipe) {
    const bool derived = recipe.kind == Kind::kSource && table[recipe.source].kind != SourceKind::kLocal;
    if (derived) plan.sources.push_back(id);
    plan.needs_slots |= derived || (id != value && !is_simple(recipe.kind));
  });
  return plan;
}

std::string ValuePlan::unsupported(const std::vector<Recipe>& recipes, RecipeId value) {
  if (value < 0 || static_cast<size_t>(value) >= recipes.size()) return "the frame's value has no recipe";
  for (const Recipe& recipe : recipes)
    for (RecipeId child : recipe.children)
      if (child < 0 || static_cast<size_t>(child) >= recipes.size()) return "a recipe has no child";
  const Kind kind = recipes[static_cast<size_t>(value)].kind;
  return kind == Kind::kNull || kind == Kind::kUnbound ? "the frame's value has no object" : "";
}

PyRef build_value(const BuildContext& context, RecipeId id, std::vector<PyRef>& owned) {
  return Builder(context, owned).build_root(id);
}

}  // namespace suture
