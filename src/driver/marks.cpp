// Marks keep a weak reference per array; a dead reference under the same address is another array and is
// dropped.
#include "driver/marks.h"

#include <fmt/format.h>

#include "cpython/numpy_api.h"
#include "cpython/objects.h"

namespace suture {
namespace {

bool refers_to(const PyRef& weak, PyView object) { return weak_target(weak.get()) == object; }

}  // namespace

void Marks::purge() {
  std::erase_if(arrays_, [](const auto& entry) { return weak_target(entry.second.weak.get()) == nullptr; });
}

Result<Marks::AxisMark*> Marks::slot(PyView array, int axis) {
  if (!is_any_ndarray(array)) return Error::unsupported("mark", "only NumPy arrays can be marked");
  const int rank = array_facts(array).ndim;
  if (axis < -rank || axis >= rank)
    return Error::unsupported("mark",
                              fmt::format("axis {} is out of bounds for an array of rank {}", axis, rank));
  purge();
  auto found = arrays_.find(array);
  if (found == arrays_.end() || !refers_to(found->second.weak, array)) {
    PyRef weak = PyRef::steal(PyWeakref_NewRef(array, nullptr));
    if (!weak) return Error::python("mark");
    found = arrays_.insert_or_assign(array, ArrayMarks{std::move(weak), {}}).first;
  }
  return &found->second.axes[axis < 0 ? axis + rank : axis];
}

Status Marks::mark_dynamic(PyView array, int axis, int64_t min, int64_t max) {
  if (min > max) return Error::unsupported("mark", fmt::format("min {} is above max {}", min, max));
  SUTURE_TRY(mark, slot(array, axis));
  *mark = {true, std::max<int64_t>(min, 2), max};
  return ok_status();
}

Status Marks::mark_static(PyView array, int axis) {
  SUTURE_TRY(mark, slot(array, axis));
  mark->dynamic = false;
  return ok_status();
}

void Marks::apply(PyView array, const std::string& source, DynamicPlan& plan) const {
  auto found = arrays_.find(array);
  if (found == arrays_.end() || !refers_to(found->second.weak, array)) return;
  for (const auto& [axis, mark] : found->second.axes) {
    std::string key = fmt::format("{}.shape[{}]", source, axis);
    if (mark.dynamic) {
      plan.symbolic.emplace(key, "marked dynamic");
      plan.ranges[key] = {mark.min, mark.max};
    } else {
      plan.symbolic.erase(key);
      plan.fixed.insert(key);
    }
  }
}

}  // namespace suture
