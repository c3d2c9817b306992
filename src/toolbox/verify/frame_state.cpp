#include "toolbox/verify/frame_state.h"

#include <map>
#include <unordered_map>
#include <utility>

namespace suture::toolbox {
namespace {

using Kind = AbstractValue::Kind;

bool is_numbered(const AbstractValue& value) {
  return value.is(Kind::kSome) || value.is(Kind::kMaybeNull) || value.is(Kind::kSelf);
}

// Gives every pair of values that meets a value of its own.
class Meeting {
 public:
  std::vector<AbstractValue> of(const std::vector<AbstractValue>& a, const std::vector<AbstractValue>& b) {
    std::vector<AbstractValue> out(a.size());
    for (size_t i = 0; i < a.size(); ++i) out[i] = of(a[i], b[i]);
    return out;
  }
  int count() const { return static_cast<int>(numbers_.size()); }

 private:
  using Code = std::pair<int, int>;
  static AbstractValue method_of(const AbstractValue& self) { return {Kind::kSome, self.id}; }
  static Code code(const AbstractValue& value) { return {static_cast<int>(value.kind), value.id}; }

  AbstractValue of(const AbstractValue& a, const AbstractValue& b) {
    if (a.is(Kind::kUnbound) || b.is(Kind::kUnbound)) return {};
    if (a == b && !is_numbered(a)) return a;
    if (a.is(Kind::kSelf) && b.is(Kind::kSelf)) return {Kind::kSelf, of(method_of(a), method_of(b)).id};
    if (a.is(Kind::kSelf) || b.is(Kind::kSelf)) return {};
    const auto [at, fresh] = numbers_.try_emplace({code(a), code(b)}, static_cast<int>(numbers_.size()));
    const auto maybe_null = [](const AbstractValue& v) {
      return v.is(Kind::kNull) || v.is(Kind::kMaybeNull);
    };
    return {maybe_null(a) || maybe_null(b) ? Kind::kMaybeNull : Kind::kSome, at->second};
  }

  std::map<std::pair<Code, Code>, int> numbers_;
};

}  // namespace

void FrameState::normalize() {
  std::unordered_map<int, int> renumbered;
  for (auto* holders : {&first_stack, &second_stack, &synthetic, &locals, &handled}) {
    for (AbstractValue& value : *holders) {
      if (is_numbered(value))
        value.id = renumbered.try_emplace(value.id, static_cast<int>(renumbered.size())).first->second;
      else if (!value.is(Kind::kConstant))
        value.id = 0;
    }
  }
  next_id = static_cast<int>(renumbered.size());
}

FrameState common_state(const FrameState& a, const FrameState& b) {
  Meeting meeting;
  FrameState out;
  out.first_stack = meeting.of(a.first_stack, b.first_stack);
  out.second_stack = meeting.of(a.second_stack, b.second_stack);
  out.synthetic = meeting.of(a.synthetic, b.synthetic);
  out.locals = meeting.of(a.locals, b.locals);
  if (a.handled.size() == b.handled.size()) out.handled = meeting.of(a.handled, b.handled);
  out.next_id = meeting.count();
  out.normalize();
  return out;
}

}  // namespace suture::toolbox
