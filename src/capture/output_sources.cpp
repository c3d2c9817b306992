// Values that the frame finds at its entry: sources, and ints computed from sizes. Whoever calls the transformed
// function fetches them at the moment of which the guards spoke and passes them behind the bound arguments. Loading
// them again by bytecode would see what other threads, handlers and callbacks have changed since.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bytecode/output_names.h"
#include "capture/numpy_calls.h"
#include "capture/output_writer.h"
#include "cpython/discard_error.h"
#include "cpython/jit_callable.h"
#include "cpython/objects.h"

namespace suture {
namespace {

// "o.w[0]" -> "__entry_o_w_0"
std::string parameter_name(const std::string& source) {
  std::string name = "__entry_";
  for (const char c : source) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      name += c;
    else if (name.back() != '_')
      name += '_';
  }
  while (name.back() == '_') name.pop_back();
  return name;
}

// __name__ of objects that give it without running code of the program; null for others. A module may have a
// __getattr__ of its own.
PyRef plain_name(PyView object) {
  if (PyModule_CheckExact(object))
    return PyRef::borrow(PyDict_GetItemString(PyModule_GetDict(object), "__name__"));
  const bool plain = PyCFunction_Check(object) || PyFunction_Check(object) || PyType_CheckExact(object) ||
                     is_numpy_callable(object) || is_jit_callable(object);
  return plain ? PyRef::steal(PyObject_GetAttrString(object, "__name__")) : PyRef();
}

// print -> "__print", scipy.linalg -> "__linalg", an object without a name -> "__object"
std::string variable_name(PyView object) {
  const PyRef known = plain_name(object);
  std::string name = known ? exact_text(known.get()).value_or("") : "";
  discard_error();
  name = name.substr(name.rfind('.') + 1);
  const bool letters = std::ranges::all_of(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
  if (!letters || name.empty()) return "__object";
  name = "__" + name;
  return is_output_name(name) ? name + "_object" : name;
}

}  // namespace

void OutputWriter::push_program_object(const PyRef& object) {
  push_object(object, variable_name(object.get()));
}

// An int that came in as an object goes out as that object.
SourceId OutputWriter::source_of(const Recipe& recipe) const {
  if (recipe.kind == Recipe::Kind::kSource) return recipe.source;
  if (recipe.kind != Recipe::Kind::kSymInt) return kNoSource;
  const auto symbol = recipe.sym.as_symbol();
  for (const SymbolBinding& binding : capture_.guards.bindings) {
    if (symbol && binding.symbol == *symbol && binding.what == SymbolBinding::What::kIntValue)
      return binding.source;
  }
  return kNoSource;
}

int OutputWriter::entry_slot(const Recipe& recipe) const {
  const SourceId source = source_of(recipe);
  if (source != kNoSource && capture_.guards.sources[source].kind == SourceKind::kLocal)
    return capture_.guards.sources[source].index;
  const auto same = [&](const EntryValue& value) {
    return source == value.recipe.source && (source != kNoSource || value.recipe.sym == recipe.sym);
  };
  const auto found = std::ranges::find_if(entry_values_, same);
  return found == entry_values_.end() ? -1 : found->slot;
}

void OutputWriter::push_entry_value(Recipe recipe, const std::string& text) {
  int slot = entry_slot(recipe);
  if (slot < 0) {
    slot = new_temporary(parameter_name(text));
    slots_.back().parameter = true;
    entry_values_.push_back({std::move(recipe), slot});
  }
  load(slot);
}

Status OutputWriter::push_source(SourceId id) {
  if (id < 0 || id >= capture_.guards.sources.size())
    return Error::internal("output", "recipe without a source");
  const Source& source = capture_.guards.sources[id];
  if (source.kind == SourceKind::kFunction) {
    push_object(PyRef::borrow(function_), "__original");
  } else if (source.kind == SourceKind::kObject) {
    push_program_object(source.key);
  } else {
    Recipe value;
    value.kind = Recipe::Kind::kSource;
    value.source = id;
    push_entry_value(std::move(value), capture_.guards.sources.str(id));
  }
  return ok_status();
}

void OutputWriter::push_part(const char* attribute) { code_.emit(Opcode::LOAD_ATTR, code_.name(attribute)); }

void OutputWriter::push_item(int index) {
  push_int(index);
  code_.emit(Opcode::BINARY_SUBSCR);
}

Status OutputWriter::push_cell_of(RecipeId id) {
  const Recipe& r = recipe(id);
  if (r.kind == Recipe::Kind::kSource) {
    const Source& source = capture_.guards.sources[r.source];
    if (source.kind == SourceKind::kCell) {
      code_.emit(Opcode::LOAD_CLOSURE, free_slot(source.index));
      return ok_status();
    }
    if (source.kind == SourceKind::kContentsOf) return push_source(source.parent);
    if (source.kind == SourceKind::kClosureOf) {
      SUTURE_TRY_VOID(push_source(source.parent));
      push_part("__closure__");
      push_item(source.index);
      return ok_status();
    }
  }
  return push(id);
}

Status OutputWriter::push_symbolic(const Recipe& recipe) {
  if (auto constant = recipe.sym.constant()) {
    push_int(*constant);
    return ok_status();
  }
  if (const SourceId source = source_of(recipe); source != kNoSource) return push_source(source);
  push_entry_value(recipe, recipe.sym.str());
  return ok_status();
}

}  // namespace suture
