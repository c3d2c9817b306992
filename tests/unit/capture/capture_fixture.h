// Captures functions written in Python and replays the captures under NumPy.
//
// Overview
//   define() runs Python source; capture() traces one function with real arguments. replay() does what the
//   runtime will do for a frame that returns: guards are checked, the graph runs as NumPy source, the result
//   is rebuilt from its recipe, side effects are applied. Comparing that with calling the function is the
//   oracle of most tests.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capture/capture.h"
#include "cpython/numpy_api.h"
#include "graph/print.h"
#include "guard/guard_tree.h"
#include "support/embed.h"

namespace suture {

class CaptureFixture : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(import_numpy().ok()); }

  void define(const std::string& source) { names = testing::run_python(source); }
  PyRef eval(const std::string& expression) { return testing::evaluate_python(expression, names.get()); }

  // Traces `function` of define() with the values of the argument expressions (already bound, in localsplus
  // order).
  Capture& trace(const std::string& function, const std::vector<std::string>& arguments,
                 CaptureOptions options = {}) {
    owned.clear();
    views.clear();
    for (const std::string& text : arguments) owned.push_back(eval(text));
    for (const PyRef& object : owned) views.push_back(object.get());
    called = eval(function);
    auto result = trace_frame({called.get(), views}, options);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().step + ": " + result.error().message);
    capture = result.ok() ? std::move(*result) : Capture();
    return capture;
  }
  FrameInput input() { return {called.get(), views}; }

  std::vector<std::string> ops() const {
    std::vector<std::string> names_of_ops;
    for (const Node& node : capture.graph.nodes)
      if (info(node.op).kind != OpKind::Input) names_of_ops.emplace_back(info(node.op).name);
    return names_of_ops;
  }
  std::vector<std::string> guard_texts() {
    tree = build_tree();
    std::vector<std::string> texts;
    for (size_t i = 0; i < tree.set().guards.size(); ++i) texts.push_back(tree.describe(static_cast<int>(i)));
    return texts;
  }
  GuardTree build_tree() {
    auto built = GuardTree::build(capture.guards, capture.graph.env);
    EXPECT_TRUE(built.ok()) << (built.ok() ? "" : built.error().message);
    return built.ok() ? std::move(*built) : GuardTree();
  }
  std::string reason() const {
    return capture.end.reason ? std::string(info(capture.end.reason->reason).code) : "";
  }
  int line_of(int index) const { return capture.function.instructions[static_cast<size_t>(index)].line; }
  Opcode opcode_at_end() const {
    return capture.function.instructions[static_cast<size_t>(capture.end.at)].opcode;
  }

  // Runs the capture (which must return) and compares value, dtypes and identity structure with calling the
  // function on fresh arguments made from the same expressions.
  void expect_same_as_python(const std::string& function, const std::vector<std::string>& arguments,
                             CaptureOptions options = {});
  // Result of the captured frame, or null with a failed expectation.
  PyRef replay();

  PyRef names;
  PyRef called;
  std::vector<PyRef> owned;
  std::vector<PyView> views;
  Capture capture;
  GuardTree tree;

 private:
  PyRef run_graph();
  PyRef rebuild(RecipeId id);
  PyRef rebuild_new(const Recipe& recipe);
  PyRef tuple_of(const std::vector<RecipeId>& ids, size_t from = 0);
  void apply(const SideEffect& effect);
  PyRef outputs_;
  std::vector<PyRef> rebuilt_;
};

}  // namespace suture
