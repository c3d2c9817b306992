#include "ops/signals.h"

#include <cmath>
#include <limits>

namespace suture {

bool can_signal(OpId op, DType result, IntegerOverflow overflow) {
  const OpInfo& facts = info(op);
  if (overflow == IntegerOverflow::kReported && facts.form == ScalarForm::Checked) return true;
  return facts.signals == OpSignals::Status || (facts.signals != OpSignals::Never && is_float(result));
}

bool can_signal_for_zeros(OpId op, DType result, IntegerOverflow overflow) {
  switch (op) {
    case OpId::kAdd:
    case OpId::kSubtract:
    case OpId::kMultiply:
    case OpId::kSquare:
    case OpId::kExp:
    case OpId::kExp2:
    case OpId::kExpm1:
    case OpId::kSin:
    case OpId::kCos:
    case OpId::kTanh: return !is_float(result) && can_signal(op, result, overflow);
    default: return can_signal(op, result, overflow);
  }
}

bool cast_can_signal(DType from, DType to) {
  if (is_bool(to) || !is_float(from)) return false;
  return !is_float(to) || itemsize(to) < itemsize(from);
}

bool cast_of_value_can_signal(double value, DType to) {
  if (to != DType::kFloat32 || !std::isfinite(value)) return false;
  const double converted = static_cast<float>(value);
  return std::isinf(converted) ||
         (converted != value && std::fabs(converted) <= std::numeric_limits<float>::min());
}

bool signals_by_flags(OpId op, DType result) {
  return is_float(result) && info(op).signals != OpSignals::Never;
}

bool cast_signals_by_flags(DType from, DType to) { return is_float(to) && cast_can_signal(from, to); }

}  // namespace suture
