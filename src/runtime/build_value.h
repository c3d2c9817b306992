// Rebuilding Python objects from recipes, for frames that return without running Python bytecode.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "cpython/py_ref.h"
#include "guard/frame_input.h"
#include "guard/recipe.h"

namespace suture {

// What recipes may refer to in one call.
struct BuildContext {
  const std::vector<Recipe>& recipes;
  const SourceTable& sources;
  const FrameInput& input;
  std::span<const int64_t> symbols;
  std::span<PyObject* const> graph_outputs;
  // Objects that exist already, by recipe (borrowed): kSource values fetched before the graph ran, and shared
  // recipes built so far. Empty slots are null.
  std::span<PyObject*> built;
};

// How a value is put together, found once per entry.
struct ValuePlan {
  std::vector<RecipeId>
      sources;               // kSource recipes that are not plain arguments: fetched before the graph runs
  bool needs_slots = false;  // anything in BuildContext::built is used
  static ValuePlan of(const std::vector<Recipe>& recipes, RecipeId value, const SourceTable& table);
  // Empty, or why the value cannot be built here.
  static std::string unsupported(const std::vector<Recipe>& recipes, RecipeId value);
};

// The Python int that an expression stands for in this call; SystemError where a guard should have failed.
PyRef symbolic_int(const SymInt& value, std::span<const int64_t> symbols);
// New reference, or empty with an exception set. Objects built for shared recipes are appended to `owned`.
PyRef build_value(const BuildContext& context, RecipeId id, std::vector<PyRef>& owned);

}  // namespace suture
