// Marks: which axes of which arrays the user marked dynamic or static. Arrays are held weakly.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/result.h"
#include "capture/capture.h"
#include "cpython/py_ref.h"

namespace suture {

class Marks {
 public:
  Status mark_dynamic(PyView array, int axis, int64_t min, int64_t max);
  Status mark_static(PyView array, int axis);
  bool empty() const { return arrays_.empty(); }
  // Adds what is known about `array`, reachable as `source` ("x"), to a plan.
  void apply(PyView array, const std::string& source, DynamicPlan& plan) const;

 private:
  struct AxisMark {
    bool dynamic = true;
    int64_t min = 2, max = INT64_MAX;
  };
  struct ArrayMarks {
    PyRef weak;
    std::map<int, AxisMark> axes;
  };
  Result<AxisMark*> slot(PyView array, int axis);
  void purge();
  std::unordered_map<PyObject*, ArrayMarks> arrays_;
};

}  // namespace suture
