// Loading sources: the object that a guard looked at, fetched again by bytecode. Every form runs the same
// lookup as the guard, so nothing runs here that the guards have not proved harmless.
#include <fmt/format.h>

#include <algorithm>

#include "capture/output_writer.h"
#include "cpython/objects.h"

namespace suture {
namespace {

PyObject* load_attribute(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) {
    PyErr_SetString(PyExc_TypeError, "__load_attribute takes an object and a name");
    return nullptr;
  }
  AttributeLookup found = lookup_attribute(args[0], args[1]);
  if (found.value) return found.value.release();
  return PyObject_GetAttr(args[0], args[1]);
}

PyMethodDef kLoadAttribute = {"__load_attribute",
                              reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(load_attribute)),
                              METH_FASTCALL, nullptr};

bool binds(PyTypeObject* type) { return type->tp_descr_get != nullptr; }

PyRef type_object() { return PyRef::borrow(reinterpret_cast<PyObject*>(&PyType_Type)); }

}  // namespace

PyRef attribute_loader() { return PyRef::steal(PyCFunction_New(&kLoadAttribute, nullptr)); }

// True when a guard proves that the attribute is no descriptor, so that LOAD_ATTR gives the same object.
bool OutputWriter::plain_attribute(SourceId id) const {
  return std::any_of(capture_.guards.guards.begin(), capture_.guards.guards.end(), [&](const Guard& guard) {
    if (guard.source != id) return false;
    switch (guard.kind) {
      case GuardKind::kArray: return true;
      case GuardKind::kType:
        return guard.object && PyType_Check(guard.object.get()) &&
               !binds(reinterpret_cast<PyTypeObject*>(guard.object.get()));
      case GuardKind::kIdentity:
      case GuardKind::kConstant: return guard.object && !binds(Py_TYPE(guard.object.get()));
      default: return false;
    }
  });
}

void OutputWriter::push_part(const char* attribute) { code_.emit(Opcode::LOAD_ATTR, code_.name(attribute)); }

void OutputWriter::push_item(int index) {
  push_int(index);
  code_.emit(Opcode::BINARY_SUBSCR);
}

Status OutputWriter::push_attribute(SourceId id, const Source& source) {
  if (plain_attribute(id)) {
    SUTURE_TRY_VOID(push_source(source.parent));
    push_part(source.name.c_str());
    return ok_status();
  }
  PyRef loader;
  for (const Captured& captured : captured_) {
    if (PyCFunction_Check(captured.object.get()) &&
        PyCFunction_GET_FUNCTION(captured.object.get()) == kLoadAttribute.ml_meth)
      loader = captured.object;
  }
  if (!loader) loader = attribute_loader();
  PyRef name = PyRef::steal(PyUnicode_FromString(source.name.c_str()));
  if (!loader || !name) return Error::python("output");
  code_.push_null();
  push_object(loader, "__load_attribute");
  SUTURE_TRY_VOID(push_source(source.parent));
  push_object(name, "");
  code_.call(2);
  return ok_status();
}

Status OutputWriter::push_source(SourceId id) {
  if (id < 0 || id >= capture_.guards.sources.size())
    return Error::internal("output", "recipe without a source");
  const Source& source = capture_.guards.sources[id];
  const auto part = [&](const char* attribute) -> Status {
    SUTURE_TRY_VOID(push_source(source.parent));
    push_part(attribute);
    return ok_status();
  };
  switch (source.kind) {
    case SourceKind::kLocal: load(source.index); return ok_status();
    case SourceKind::kCell: code_.emit(Opcode::LOAD_DEREF, free_slot(source.index)); return ok_status();
    case SourceKind::kGlobal:
    case SourceKind::kBuiltin:
      code_.emit(Opcode::LOAD_GLOBAL, code_.name(source.name) << 1);
      return ok_status();
    case SourceKind::kFunction: push_object(PyRef::borrow(function_), "__original"); return ok_status();
    case SourceKind::kObject: push_object(source.key, "__object"); return ok_status();
    case SourceKind::kAttr: return push_attribute(id, source);
    case SourceKind::kGlobalsOf: return part("__globals__");
    case SourceKind::kCodeOf: return part("__code__");
    case SourceKind::kSelfOf: return part("__self__");
    case SourceKind::kFuncOf: return part("__func__");
    case SourceKind::kBaseOf: return part("base");
    case SourceKind::kContentsOf: return part("cell_contents");
    case SourceKind::kItem:
      SUTURE_TRY_VOID(push_source(source.parent));
      push_item(source.index);
      return ok_status();
    case SourceKind::kKey:
      SUTURE_TRY_VOID(push_source(source.parent));
      push_object(source.key, "__key");
      code_.emit(Opcode::BINARY_SUBSCR);
      return ok_status();
    case SourceKind::kDefaultOf:
      SUTURE_TRY_VOID(part("__defaults__"));
      push_item(source.index);
      return ok_status();
    case SourceKind::kClosureOf:
      SUTURE_TRY_VOID(part("__closure__"));
      push_item(source.index);
      push_part("cell_contents");
      return ok_status();
    case SourceKind::kKwDefaultOf:
      SUTURE_TRY_VOID(part("__kwdefaults__"));
      push_object(PyRef::steal(PyUnicode_FromString(source.name.c_str())), "");
      code_.emit(Opcode::BINARY_SUBSCR);
      return ok_status();
    case SourceKind::kTypeOf:
      code_.push_null();
      push_object(type_object(), "__type");
      SUTURE_TRY_VOID(push_source(source.parent));
      code_.call(1);
      return ok_status();
  }
  return Error::internal("output",
                         fmt::format("source kind {} cannot be loaded", static_cast<int>(source.kind)));
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

Status OutputWriter::push_symbol(SymbolId symbol) {
  for (const SymbolBinding& binding : capture_.guards.bindings) {
    if (binding.symbol != symbol) continue;
    SUTURE_TRY_VOID(push_source(binding.source));
    if (binding.what == SymbolBinding::What::kIntValue) return ok_status();
    push_part(binding.what == SymbolBinding::What::kSize ? "shape" : "strides");
    push_item(binding.axis);
    if (binding.what == SymbolBinding::What::kStride) {
      SUTURE_TRY_VOID(push_source(binding.source));
      push_part("itemsize");
      constexpr int kFloorDivide = 2;
      code_.emit(Opcode::BINARY_OP, kFloorDivide);
    }
    return ok_status();
  }
  return Error::internal("output", fmt::format("symbol s{} is not bound", symbol));
}

// Expressions over symbols are evaluated by a small Python function made from their text.
Status OutputWriter::push_symbolic(const SymInt& value) {
  if (auto constant = value.constant()) {
    push_int(*constant);
    return ok_status();
  }
  if (auto symbol = value.as_symbol()) return push_symbol(*symbol);
  std::vector<SymbolId> symbols;
  value.collect_symbols(symbols);
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  std::string parameters;
  for (SymbolId s : symbols) parameters += fmt::format("{}s{}", parameters.empty() ? "" : ", ", s);
  const std::string text = fmt::format("lambda {}: {}", parameters, value.str());
  PyRef globals = PyRef::steal(PyDict_New());
  if (!globals || PyDict_SetItemString(globals.get(), "__builtins__", PyEval_GetBuiltins()) != 0)
    return Error::python("output");
  PyRef code = PyRef::steal(Py_CompileString(text.c_str(), "<suture size>", Py_eval_input));
  PyRef function = code ? PyRef::steal(PyEval_EvalCode(code.get(), globals.get(), globals.get())) : PyRef();
  if (!function) return Error::python("output");
  code_.push_null();
  push_object(function, "__size");
  for (SymbolId s : symbols) SUTURE_TRY_VOID(push_symbol(s));
  code_.call(static_cast<int>(symbols.size()));
  return ok_status();
}

}  // namespace suture
