// Guard: one fact about the inputs of a compiled frame. Data; evaluation and the failure sentence read the
// same record.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/user_span.h"
#include "cpython/py_ref.h"
#include "guard/source.h"
#include "ops/dtype.h"
#include "sym/sym_int.h"

namespace suture {

enum class GuardKind : uint8_t {
#define SUTURE_GUARD(id, ...) id,
#include "guard/guards.def"
};

struct GuardKindInfo {
  GuardKind kind;
  std::string_view name, check, python, subject, expected, actual, action;
};
const GuardKindInfo& info(GuardKind kind);

struct Guard {
  GuardKind kind = GuardKind::kType;
  SourceId source = kNoSource;
  SourceId other = kNoSource;  // kNoOverlap, kSameObject, kNotSameObject
  PyRef object;                // kType, kIdentity, kConstant, kDictKeys (a tuple), kAbsent (the name), kCode
  bool weak =
      false;  // kIdentity: `object` is a weak reference to the expected object (GuardTree::build decides)
  // kRank, kSize, kStride (bytes), kLength, kWriteable (0/1), kContiguous and kNewStrides ('C' or 'F'),
  // kDtype (DType), kRegistrations
  int64_t number = 0;
  int index = -1;  // axis
  int fact = -1;   // kShape: index into ShapeEnv::facts()
  SymbolId symbol =
      -1;  // kSizeRange, kStrideRange, kIntRange: the symbol that takes its value here (-1: must fit int64)
  UserSpan where;  // user line that made capture rely on it
};

// How a symbol of the ShapeEnv gets its value at a call.
struct SymbolBinding {
  SymbolId symbol = 0;
  SourceId source = kNoSource;
  enum class What : uint8_t { kSize, kStride, kIntValue } what = What::kSize;  // kStride: in ELEMENTS
  int axis = -1;
};

struct GuardSet {
  SourceTable sources;
  std::vector<Guard> guards;  // in the order they are evaluated
  std::vector<SymbolBinding> bindings;
};

}  // namespace suture
