// Attributes of arrays and NumPy scalars.
#include <fmt/format.h>

#include <array>

#include "capture/array_adapters.h"
#include "capture/known_modules.h"
#include "capture/numpy_calls.h"
#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"

namespace suture {

namespace {

using numpy::Call;

struct Subject {
  const Call& call;
  const ValueRef& value;
  NodeId node;
  const TensorType& type() const { return call.type(node); }
};

Outcome transposed(const Subject& x) {
  if (x.type().scalar()) return x.value;  // scalar.T is the scalar itself
  return numpy::permuted(x.call, x.node, numpy::reversed_axes(x.type().rank()));
}
Outcome shape(const Subject& x) { return numpy::shape_tuple(x.call.state, x.type()); }
Outcome ndim(const Subject& x) { return x.call.state.python_int(x.type().rank()); }
Outcome size(const Subject& x) { return x.call.state.python_int(numpy::element_count(x.type())); }
Outcome dtype(const Subject& x) { return x.call.state.constant(dtype_object(x.type().dtype)); }
Outcome item_size(const Subject& x) { return x.call.state.python_int(itemsize(x.type().dtype)); }
Outcome bytes(const Subject& x) {
  return x.call.state.python_int(numpy::element_count(x.type()) * SymInt(itemsize(x.type().dtype)));
}

struct AttributeEntry {
  std::string_view name;
  Outcome (*read)(const Subject&);
};
constexpr std::array kAttributes = {
    AttributeEntry{"T", transposed}, AttributeEntry{"shape", shape}, AttributeEntry{"ndim", ndim},
    AttributeEntry{"size", size},    AttributeEntry{"dtype", dtype}, AttributeEntry{"itemsize", item_size},
    AttributeEntry{"nbytes", bytes},
};

// A method of ndarray: binding it runs no user code and gives no information away.
bool is_method(const std::string& name) {
  PyView ndarray = numpy_object("ndarray");
  PyRef found = ndarray ? PyRef::steal(PyObject_GetAttrString(ndarray, name.c_str())) : PyRef();
  discard_error();
  return found && Py_IS_TYPE(found.get(), &PyMethodDescr_Type);
}

}  // namespace

Outcome array_attribute(CaptureState& state, const ValueRef& array, const std::string& name) {
  auto* known = as_array(array);
  const Call call{state, "ndarray." + name};
  if (!known) return Error::internal("capture", "array_attribute of a value that is not an array");
  if (is_weak(state.type_of(*known).value_class)) {
    return state.make_break(BreakReason::kPythonScalarMath,
                            {fmt::format("Attribute `{}` of a Python number is read", name)});
  }
  for (const AttributeEntry& entry : kAttributes) {
    if (entry.name == name) return entry.read(Subject{call, array, known->node});
  }
  if (is_method(name)) return std::make_shared<ArrayMethodValue>(array, name);
  return state.make_break(BreakReason::kUnsupportedAttribute, {fmt::format("`{}` of an array", name)});
}

}  // namespace suture
