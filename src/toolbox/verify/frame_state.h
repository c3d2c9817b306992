// The abstract state of two frames that are walked together (see path_equivalence.h).
#pragma once

#include <cstddef>
#include <vector>

namespace suture::toolbox {

// What is known of a value. Equal values of a state are the same object.
struct AbstractValue {
  enum class Kind : unsigned char {
    kUnbound,    // no value, or perhaps none, or one that nobody will read
    kConstant,   // constant number `id` of the walk
    kNull,       // CPython's internal marker
    kSome,       // value number `id` of this state
    kMaybeNull,  // the same, perhaps the marker: what LOAD_FAST_AND_CLEAR takes from a local
    kSelf,  // the object of method number `id` of this state, as LOAD_METHOD leaves it beside the method; or the marker
    kPlace,  // where an exception was raised, as handlers find it; equal to nothing
  };
  Kind kind = Kind::kUnbound;
  int id = 0;
  bool is(Kind other) const { return kind == other; }
  bool operator==(const AbstractValue&) const = default;
};

struct FrameState {
  std::vector<AbstractValue> first_stack, second_stack;
  std::vector<AbstractValue> synthetic;  // per synthetic local of the second
  std::vector<AbstractValue> locals;     // per shared local; unbound: perhaps
  // Exceptions being handled, innermost last: both frames push and pop them together. Where ways join that handle different
  // numbers of them, nothing is known.
  std::vector<AbstractValue> handled;
  int next_id = 0;

  AbstractValue fresh() { return {AbstractValue::Kind::kSome, next_id++}; }
  // Numbers values in the order they are met, so that states that mean the same are equal.
  void normalize();
  bool operator==(const FrameState&) const = default;
};

// What both states agree on: values are equal when they are in both. Stacks have the same heights.
FrameState common_state(const FrameState& a, const FrameState& b);

}  // namespace suture::toolbox
