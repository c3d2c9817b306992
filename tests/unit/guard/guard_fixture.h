// Builds guard trees for tests: sources by name, frames from Python expressions.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "cpython/numpy_api.h"
#include "cpython/objects.h"
#include "guard/guard_tree.h"
#include "support/embed.h"

namespace suture {

class GuardFixture : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(import_numpy().ok()); }

  // The function whose frame is guarded, its globals, and the values of its arguments.
  PyRef names = testing::run_python("k = 7\ndef f(x, y): return x\ndef g(): pass\n");
  PyView get(const char* name) { return testing::item(names.get(), name); }
  PyRef eval(const std::string& expression) { return testing::evaluate_python(expression, names.get()); }

  SourceId local(int index, const char* name) {
    return set.sources.add({.kind = SourceKind::kLocal, .index = index, .name = name});
  }
  SourceId x() { return local(0, "x"); }
  SourceId y() { return local(1, "y"); }
  SourceId global(const char* name) { return set.sources.add({.kind = SourceKind::kGlobal, .name = name}); }
  SourceId attribute(SourceId parent, const char* name) {
    return set.sources.add({.kind = SourceKind::kAttr, .parent = parent, .name = name});
  }
  SourceId element(SourceId parent, int index) {
    return set.sources.add({.kind = SourceKind::kItem, .parent = parent, .index = index});
  }

  Guard& add(GuardKind kind, SourceId source) {
    Guard guard;
    guard.kind = kind;
    guard.source = source;
    set.guards.push_back(guard);
    return set.guards.back();
  }
  void add_number(GuardKind kind, SourceId source, int64_t number, int index = -1) {
    Guard& guard = add(kind, source);
    guard.number = number;
    guard.index = index;
  }
  void add_object(GuardKind kind, SourceId source, PyRef object) {
    add(kind, source).object = std::move(object);
  }
  // Everything capture says about a float64 array of this shape.
  void add_plain_array(SourceId source, std::vector<int64_t> shape) {
    add(GuardKind::kArray, source);
    add_number(GuardKind::kDtype, source, static_cast<int64_t>(DType::kFloat64));
    add_number(GuardKind::kRank, source, static_cast<int64_t>(shape.size()));
    for (size_t i = 0; i < shape.size(); ++i)
      add_number(GuardKind::kSize, source, shape[i], static_cast<int>(i));
  }
  SymInt bind(SourceId source, SymbolBinding::What what, int axis, const char* text, int64_t hint,
              int64_t min = 2, int64_t max = INT64_MAX) {
    const SymInt symbol = env.create_symbol(text, hint, min, max, what == SymbolBinding::What::kSize);
    set.bindings.push_back({static_cast<SymbolId>(env.symbols().size()) - 1, source, what, axis});
    return symbol;
  }

  void build() {
    Result<GuardTree> result = GuardTree::build(std::move(set), std::move(env));
    ASSERT_TRUE(result.ok()) << result.error().message;
    tree = std::move(result).value();
    set = {};
    env = {};
  }

  // A frame input over owned arguments.
  struct Frame {
    std::vector<PyRef> owned;
    std::vector<PyObject*> raw;
    PyView function;
    FrameInput input() const { return {function, raw}; }
  };
  Frame frame(std::vector<PyRef> arguments) {
    Frame result{std::move(arguments), {}, get("f")};
    for (const PyRef& argument : result.owned) result.raw.push_back(argument.get());
    return result;
  }
  Frame frame(const std::string& x_text, const std::string& y_text = "None") {
    std::vector<PyRef> arguments;
    arguments.push_back(eval(x_text));
    arguments.push_back(eval(y_text));
    return frame(std::move(arguments));
  }
  // -1, or the sentence of the first failing guard.
  std::string verdict(const Frame& call) {
    const int guard = tree.evaluate(call.input(), scratch);
    EXPECT_EQ(tree.failing(call.input()).empty(), guard < 0);
    EXPECT_EQ(testing::take_exception(), "");
    return guard < 0 ? "holds" : tree.explain_failure(guard, call.input()).sentence();
  }
  std::string verdict(const std::string& x_text, const std::string& y_text = "None") {
    return verdict(frame(x_text, y_text));
  }

  GuardSet set;
  ShapeEnv env;
  GuardTree tree;
  GuardScratch scratch;
};

}  // namespace suture
