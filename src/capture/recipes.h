// Recipes: values become instructions for rebuilding their Python objects after the graph has run.
//
// Invariants
//   - One value gives one recipe: objects that were one stay one.
//   - What existed before the frame is fetched, never copied; what was changed in it is a side effect of its
//     own.
//   - A value that cannot be rebuilt (a running generator, a partly consumed list iterator) yields no recipe
//     and a reason.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "capture/capture_state.h"

namespace suture {

class RecipeWriter {
 public:
  RecipeWriter(CaptureState& state, Capture& out) : state_(state), out_(out) {}

  std::optional<RecipeId> write(const ValueRef& value);
  // The present items of a changed list, as a new container.
  std::optional<RecipeId> write_contents(const ValueRef& container);
  RecipeId source(SourceId source);
  RecipeId constant(PyView object);
  const std::string& failure() const { return failure_; }
  std::optional<RecipeId> fail(std::string why);  // the first one is the failure

 private:
  std::optional<RecipeId> write_new(const ValueRef& value);
  std::optional<RecipeId> children(Recipe recipe, const std::vector<ValueRef>& values);
  std::optional<RecipeId> array(const ValueRef& value);
  std::optional<RecipeId> function(const ValueRef& value);
  std::optional<RecipeId> iterator(const ValueRef& value);
  std::optional<RecipeId> method(const ValueRef& self, const std::string& name);
  std::optional<RecipeId> cell(const ValueRef& value);
  std::optional<RecipeId> reversed(const ValueRef& subject);
  std::optional<RecipeId> reversed_list(const IteratorValue& it);
  std::optional<RecipeId> iterator_of_members(const IteratorValue& it);
  std::optional<RecipeId> dict_view(const DictViewValue& view);
  RecipeId add(Recipe recipe);

  CaptureState& state_;
  Capture& out_;
  std::unordered_map<const Value*, RecipeId> written_;
  std::vector<ValueRef> keep_;  // keys of `written_` stay alive
  std::set<const Value*> running_;
  std::string failure_;
};

}  // namespace suture
