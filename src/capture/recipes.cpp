#include "capture/recipes.h"

#include <fmt/format.h>

#include <algorithm>

#include "capture/known_modules.h"
#include "capture/operations.h"
#include "cpython/objects.h"

namespace suture {

RecipeId RecipeWriter::add(Recipe recipe) {
  out_.recipes.push_back(std::move(recipe));
  return static_cast<RecipeId>(out_.recipes.size()) - 1;
}

RecipeId RecipeWriter::source(SourceId source) {
  for (size_t i = 0; i < out_.recipes.size(); ++i)
    if (out_.recipes[i].kind == Recipe::Kind::kSource && out_.recipes[i].source == source)
      return static_cast<RecipeId>(i);
  Recipe recipe;
  recipe.kind = Recipe::Kind::kSource;
  recipe.source = source;
  return add(std::move(recipe));
}

RecipeId RecipeWriter::constant(PyView object) {
  Recipe recipe;
  recipe.object = PyRef::borrow(object);
  return add(std::move(recipe));
}

std::optional<RecipeId> RecipeWriter::fail(std::string why) {
  if (failure_.empty()) failure_ = std::move(why);
  return std::nullopt;
}

std::optional<RecipeId> RecipeWriter::write(const ValueRef& value) {
  if (!value) {
    Recipe unbound;
    unbound.kind = Recipe::Kind::kUnbound;
    return add(std::move(unbound));
  }
  if (auto seen = written_.find(value.get()); seen != written_.end()) return seen->second;
  if (!running_.insert(value.get()).second) return fail("a container contains itself");
  auto id = write_new(value);
  running_.erase(value.get());
  if (id) {
    written_[value.get()] = *id;
    keep_.push_back(value);
  }
  return id;
}

std::optional<RecipeId> RecipeWriter::children(Recipe recipe, const std::vector<ValueRef>& values) {
  for (const ValueRef& value : values) {
    auto id = write(value);
    if (!id) return std::nullopt;
    recipe.children.push_back(*id);
  }
  return add(std::move(recipe));
}

std::optional<RecipeId> RecipeWriter::array(const ValueRef& value) {
  const NodeId node = as_array(value)->node;
  auto& outputs = state_.graph.outputs;
  auto found = std::find(outputs.begin(), outputs.end(), node);
  Recipe recipe;
  recipe.kind = Recipe::Kind::kGraphOutput;
  recipe.index = static_cast<int>(found - outputs.begin());
  if (found == outputs.end()) outputs.push_back(node);
  return add(std::move(recipe));
}

std::optional<RecipeId> RecipeWriter::method(const ValueRef& self, const std::string& name) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::kAttribute;
  recipe.name = name;
  return children(std::move(recipe), {self});
}

std::optional<RecipeId> RecipeWriter::cell(const ValueRef& value) {
  auto* cell = as_cell(value);
  if (cell->source != kNoSource) {  // an existing cell is passed on as it is
    const Source& contents = state_.guards.sources[cell->source];
    if (contents.kind == SourceKind::kContentsOf) return source(contents.parent);
    // The captured function object is fixed, and its cells with it.
    if (contents.kind == SourceKind::kCell) return source(state_.object_source(cell->cell.get()));
    return fail("a function made here shares a variable of an inlined function");
  }
  Recipe recipe;
  recipe.kind = Recipe::Kind::kCell;
  return children(std::move(recipe), {cell->contents});
}

std::optional<RecipeId> RecipeWriter::function(const ValueRef& value) {
  auto* function = as_function(value);
  if (function->function) return fail("a function that cannot be fetched again");
  if (function->has_annotations) return fail("a function made here has annotations");
  if (function->globals_source != kNoSource &&
      function->globals.get() != function_globals(state_.input.function))
    return fail("a function made by a function of another module");
  Recipe recipe;
  recipe.kind = Recipe::Kind::kFunction;
  recipe.object = function->code;
  const SourceId self = state_.source(SourceKind::kFunction, kNoSource);
  recipe.children.push_back(source(state_.source(SourceKind::kGlobalsOf, self)));
  ValueRef none = state_.none();
  ValueRef defaults = none, kwdefaults = none;
  if (!function->defaults.empty())
    defaults = std::make_shared<SequenceValue>(ValueKind::kTuple, function->defaults);
  if (!function->kwdefaults.empty()) {
    auto dict = std::make_shared<DictValue>();
    for (const auto& [name, item] : function->kwdefaults)
      dict->items.emplace_back(PyRef::steal(PyUnicode_InternFromString(name.c_str())), item);
    kwdefaults = dict;
  }
  std::vector<ValueRef> parts = {defaults, kwdefaults, none};
  parts.insert(parts.end(), function->closure.begin(), function->closure.end());
  return children(std::move(recipe), parts);
}

namespace {

PyView callable_for(IteratorValue::Of of) {
  switch (of) {
    case IteratorValue::Of::kZip: return module_object("builtins", "zip");
    case IteratorValue::Of::kEnumerate: return module_object("builtins", "enumerate");
    case IteratorValue::Of::kMap: return module_object("builtins", "map");
    case IteratorValue::Of::kFilter: return module_object("builtins", "filter");
    default: return nullptr;
  }
}

}  // namespace

std::optional<RecipeId> RecipeWriter::iterator(const ValueRef& value) {
  using Of = IteratorValue::Of;
  auto& it = static_cast<IteratorValue&>(*value);
  Recipe recipe;
  recipe.kind = Recipe::Kind::kIterator;
  const auto rest = [&](const std::vector<ValueRef>& items) {
    const size_t from = it.exhausted ? items.size() : std::min(it.next, items.size());
    return std::make_shared<SequenceValue>(
        ValueKind::kTuple, std::vector<ValueRef>(items.begin() + static_cast<long>(from), items.end()));
  };
  switch (it.of) {
    case Of::kItems: return children(std::move(recipe), {rest(it.remaining)});
    case Of::kDict:
    case Of::kSet: return iterator_of_members(it);
    case Of::kList:
      if (it.reversed) return reversed_list(it);
      if (it.next == 0 && !it.exhausted) return children(std::move(recipe), {it.subject});
      if (as_list(it.subject)) return fail("an iterator over a list is half consumed");
      if (!is_value(state_.materialize(it.subject)))
        return fail("an iterator over values that are not captured");
      return children(std::move(recipe), {rest(as_tuple(it.subject)->items)});
    case Of::kRange: {
      auto* range = as_range(it.subject);
      const SymInt start = range->start + SymInt(static_cast<int64_t>(it.next)) * range->step;
      const SymInt stop = it.exhausted ? start : range->stop;
      return children(std::move(recipe), {std::make_shared<RangeValue>(start, stop, range->step)});
    }
    case Of::kOpaque: return children(std::move(recipe), {it.subject});
    case Of::kGenerator: return fail("a generator is not finished and cannot be handed over");
    default: break;
  }
  recipe.kind = Recipe::Kind::kCall;
  std::vector<ValueRef> parts = {state_.constant(PyRef::borrow(callable_for(it.of)))};
  if (it.of == Of::kMap || it.of == Of::kFilter) parts.push_back(it.subject);
  parts.insert(parts.end(), it.children.begin(), it.children.end());
  if (it.of == Of::kEnumerate)
    parts.push_back(state_.python_int(it.counter + SymInt(static_cast<int64_t>(it.next))));
  return children(std::move(recipe), parts);
}

// reversed(subject)
std::optional<RecipeId> RecipeWriter::reversed(const ValueRef& subject) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::kCall;
  return children(std::move(recipe),
                  {state_.constant(PyRef::borrow(module_object("builtins", "reversed"))), subject});
}

std::optional<RecipeId> RecipeWriter::reversed_list(const IteratorValue& it) {
  const bool fresh = it.next == 0 && !it.exhausted && it.size == as_tuple_or_list(it.subject)->items.size();
  if (!fresh) return fail("an iterator over a reversed list is half consumed");
  return reversed(it.subject);
}

// An iterator knows what its dict or set was when it was made: it can be made again only while that is so.
std::optional<RecipeId> RecipeWriter::iterator_of_members(const IteratorValue& it) {
  Recipe recipe;
  recipe.kind = Recipe::Kind::kIterator;
  if (it.exhausted)
    return children(std::move(recipe),
                    {std::make_shared<SequenceValue>(ValueKind::kTuple, std::vector<ValueRef>())});
  const DictValue* dict = as_dict(it.subject);
  const bool same = dict ? dict->changes == it.changes : as_set(it.subject)->items.size() == it.size;
  if (it.next > 0 || !same) return fail("an iterator over a dict or set is half consumed, or that changed");
  ValueRef subject = it.subject;
  if (it.part != DictPart::kKeys) subject = std::make_shared<DictViewValue>(it.subject, it.part);
  return it.reversed ? reversed(subject) : children(std::move(recipe), {subject});
}

std::optional<RecipeId> RecipeWriter::dict_view(const DictViewValue& view) {
  static constexpr const char* kMethods[] = {"keys", "values", "items"};
  Recipe method, call;
  method.kind = Recipe::Kind::kAttribute;
  method.name = kMethods[static_cast<size_t>(view.part)];
  const auto bound = children(std::move(method), {view.dict});
  if (!bound) return std::nullopt;
  call.kind = Recipe::Kind::kCall;
  call.children.push_back(*bound);
  return add(std::move(call));
}

std::optional<RecipeId> RecipeWriter::write_contents(const ValueRef& container) {
  if (!is_value(state_.materialize(container))) return fail("a container holds values that are not captured");
  Recipe recipe;
  if (auto* dict = as_dict(container)) {
    recipe.kind = Recipe::Kind::kDict;
    for (const auto& [key, item] : dict->items) {
      auto id = write(item);
      if (!id) return std::nullopt;
      recipe.children.push_back(constant(key.get()));
      recipe.children.push_back(*id);
    }
    return add(std::move(recipe));
  }
  auto& sequence = static_cast<SequenceValue&>(*container);
  if (sequence.type) {  // a namedtuple
    recipe.kind = Recipe::Kind::kCall;
    std::vector<ValueRef> parts = {state_.constant(sequence.type)};
    parts.insert(parts.end(), sequence.items.begin(), sequence.items.end());
    return children(std::move(recipe), parts);
  }
  recipe.kind = sequence.kind == ValueKind::kTuple  ? Recipe::Kind::kTuple
                : sequence.kind == ValueKind::kList ? Recipe::Kind::kList
                                                    : Recipe::Kind::kSet;
  return children(std::move(recipe), sequence.items);
}

std::optional<RecipeId> RecipeWriter::write_new(const ValueRef& value) {
  if (value->kind == ValueKind::kConstant) return constant(as_constant(value)->object.get());
  if (value->source != kNoSource && value->kind != ValueKind::kCell) return source(value->source);
  Recipe recipe;
  switch (value->kind) {
    case ValueKind::kArray: return array(value);
    case ValueKind::kSymInt:
      recipe.kind = Recipe::Kind::kSymInt;
      recipe.sym = as_sym_int(value)->value;
      return add(std::move(recipe));
    case ValueKind::kTuple:
    case ValueKind::kList:
    case ValueKind::kSet:
    case ValueKind::kDict: return write_contents(value);
    case ValueKind::kDictView: return dict_view(*as_dict_view(value));
    case ValueKind::kSlice: {
      auto& slice = static_cast<SliceValue&>(*value);
      recipe.kind = Recipe::Kind::kSlice;
      return children(std::move(recipe), {slice.start, slice.stop, slice.step});
    }
    case ValueKind::kRange: {
      auto* range = as_range(value);
      recipe.kind = Recipe::Kind::kRange;
      return children(std::move(recipe), {state_.python_int(range->start), state_.python_int(range->stop),
                                          state_.python_int(range->step)});
    }
    case ValueKind::kIterator: return iterator(value);
    case ValueKind::kFunction: return function(value);
    case ValueKind::kCell: return cell(value);
    case ValueKind::kNull: recipe.kind = Recipe::Kind::kNull; return add(std::move(recipe));
    case ValueKind::kBoundMethod: {
      auto& bound = static_cast<BoundMethodValue&>(*value);
      recipe.kind = Recipe::Kind::kBoundMethod;
      return children(std::move(recipe), {bound.function, bound.self});
    }
    case ValueKind::kArrayMethod: {
      auto& bound = static_cast<ArrayMethodValue&>(*value);
      return method(bound.array, bound.name);
    }
    case ValueKind::kBuiltinMethod: {
      auto& bound = static_cast<BuiltinMethodValue&>(*value);
      return method(bound.self, bound.name);
    }
    case ValueKind::kPartial: {
      auto& partial = static_cast<PartialValue&>(*value);
      if (!partial.keyword.empty()) return fail("a partial with keywords made here");
      recipe.kind = Recipe::Kind::kCall;
      std::vector<ValueRef> parts = {state_.constant(PyRef::borrow(module_object("functools", "partial"))),
                                     partial.function};
      parts.insert(parts.end(), partial.positional.begin(), partial.positional.end());
      return children(std::move(recipe), parts);
    }
    case ValueKind::kContext: {
      auto& context = static_cast<ContextValue&>(*value);
      recipe.kind = Recipe::Kind::kCall;
      recipe.object = PyRef::steal(PyTuple_New(static_cast<Py_ssize_t>(context.keyword.size())));
      std::vector<ValueRef> parts = {state_.constant(context.type)};
      for (const auto& [name, argument] : context.keyword) {
        PyTuple_SET_ITEM(recipe.object.get(), static_cast<Py_ssize_t>(parts.size()) - 1,
                         PyUnicode_InternFromString(name.c_str()));
        parts.push_back(argument);
      }
      return children(std::move(recipe), parts);
    }
    default: return fail(state_.describe(value) + " cannot be made again");
  }
}

}  // namespace suture
