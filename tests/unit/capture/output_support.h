// Hand-made captures for the tests of output bytecode: what the symbolic interpreter would have learned,
// written down.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bytecode/analysis.h"
#include "bytecode/continuation.h"
#include "capture/output_bytecode.h"
#include "cpython/code_object.h"
#include "cpython/ndarray.h"
#include "cpython/objects.h"
#include "cpython/tail_call.h"
#include "guard/frame_input.h"
#include "support/embed.h"

namespace suture::testing {

struct CaptureBuilder {
  PyRef function;
  Capture capture;

  explicit CaptureBuilder(PyRef f) : function(std::move(f)) {
    auto view = code_view(function_code(function.get()));
    auto decoded = decode_function(*view);
    capture.function = std::move(*decoded);
  }

  RecipeId add(Recipe recipe) {
    capture.recipes.push_back(std::move(recipe));
    return static_cast<RecipeId>(capture.recipes.size()) - 1;
  }
  RecipeId plain(Recipe::Kind kind, std::vector<RecipeId> children = {}) {
    Recipe r;
    r.kind = kind;
    r.children = std::move(children);
    return add(std::move(r));
  }
  RecipeId constant(PyRef object) {
    Recipe r;
    r.object = std::move(object);
    return add(std::move(r));
  }
  RecipeId integer(long number) { return constant(PyRef::steal(PyLong_FromLong(number))); }
  RecipeId output(int index) {
    Recipe r;
    r.kind = Recipe::Kind::kGraphOutput;
    r.index = index;
    while (static_cast<int>(capture.graph.outputs.size()) <= index) capture.graph.outputs.push_back(0);
    return add(std::move(r));
  }
  RecipeId source(Source s) {
    Recipe r;
    r.kind = Recipe::Kind::kSource;
    r.source = capture.guards.sources.add(std::move(s));
    return add(std::move(r));
  }
  RecipeId argument(const std::string& name) {
    return source({SourceKind::kLocal, kNoSource, local(name), name, {}, {}});
  }

  int local(const std::string& name) const {
    const auto& names = capture.function.code.local_names;
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<int>(i);
    }
    ADD_FAILURE() << "no local " << name;
    return 0;
  }
  // Index of the n-th instruction with this opcode.
  int find(Opcode opcode, int n = 0) const {
    for (size_t i = 0; i < capture.function.instructions.size(); ++i) {
      if (capture.function.instructions[i].opcode == opcode && n-- == 0) return static_cast<int>(i);
    }
    ADD_FAILURE() << "no such " << opcode_name(opcode);
    return 0;
  }
  int offset(int index) const { return capture.function.instructions[static_cast<size_t>(index)].offset; }

  void break_at(int at, std::vector<RecipeId> stack, std::map<int, RecipeId> locals) {
    end(FrameEnd::Kind::kBreak, at, std::move(stack), std::move(locals));
  }
  void loop_at(int at, std::vector<RecipeId> stack, std::map<int, RecipeId> locals) {
    end(FrameEnd::Kind::kLoop, at, std::move(stack), std::move(locals));
  }
  void end(FrameEnd::Kind kind, int at, std::vector<RecipeId> stack, std::map<int, RecipeId> locals) {
    capture.end.kind = kind;
    capture.end.at = at;
    capture.end.stack = std::move(stack);
    capture.end.locals = std::move(locals);
  }
};

// Emitted code and what it was made of. Continuations stay plain functions; `made` remembers them.
struct Emitted {
  OutputCode code;
  PyRef original;
  GuardSet guards;
  std::vector<PyRef> made;
  std::vector<FrameKind> kinds;
};

inline Result<Emitted> emit(const CaptureBuilder& builder, PyView graph = nullptr) {
  Emitted out;
  MakeCallable keep = [&](PyRef function, FrameKind kind) -> Result<PyRef> {
    out.made.push_back(function);
    out.kinds.push_back(kind);
    return function;
  };
  auto code = emit_output_bytecode(builder.capture, builder.function.get(), graph, 0, keep);
  if (!code.ok()) return code.error();
  out.code = std::move(*code);
  out.original = builder.function;
  out.guards = builder.capture.guards;
  return out;
}

// The values behind the bound arguments, as the runtime fetches them.
inline std::vector<PyRef> entry_values(const Emitted& emitted, const FrameInput& input) {
  const SourceTable& sources = emitted.guards.sources;
  std::vector<int64_t> symbols;
  for (const SymbolBinding& binding : emitted.guards.bindings) {
    symbols.resize(std::max(symbols.size(), static_cast<size_t>(binding.symbol) + 1));
    PyView array = fetch(sources, binding.source, input);
    symbols[static_cast<size_t>(binding.symbol)] =
        binding.what == SymbolBinding::What::kSize ? array_fields(array)->dimensions[binding.axis] : 0;
  }
  std::vector<PyRef> values;
  for (const Recipe& recipe : emitted.code.entry_values) {
    values.push_back(recipe.kind == Recipe::Kind::kSource
                         ? PyRef::borrow(fetch(sources, recipe.source, input))
                         : PyRef::steal(PyLong_FromLongLong(recipe.sym.evaluate(symbols).value())));
  }
  return values;
}

inline PyObject* call_transformed(PyObject* capsule, PyObject* bound) {
  const auto& emitted = *static_cast<const Emitted*>(PyCapsule_GetPointer(capsule, nullptr));
  PyObject* const* items = reinterpret_cast<PyTupleObject*>(bound)->ob_item;
  std::vector<PyObject*> arguments(items, items + PyTuple_GET_SIZE(bound));
  const std::vector<PyRef> values = entry_values(emitted, {emitted.original.get(), arguments});
  for (const PyRef& value : values) arguments.push_back(value.get());
  return finish_tail_call(
      PyObject_Vectorcall(emitted.code.function.get(), arguments.data(), arguments.size(), nullptr));
}

// The transformed function as callers see it: called with bound arguments, and with its tail call made. `emitted`
// must outlive it.
inline PyRef callable_of(const Emitted& emitted) {
  static PyMethodDef method = {"transformed", call_transformed, METH_VARARGS, nullptr};
  PyRef capsule = PyRef::steal(PyCapsule_New(const_cast<Emitted*>(&emitted), nullptr, nullptr));
  return PyRef::steal(PyCFunction_New(&method, capsule.get()));
}

}  // namespace suture::testing
