// The one file that imports NumPy's C API table.
//
// Overview
//   import_numpy() fills `numpy_objects` (descriptors, scalar types) and the Python-level objects of
//   `Imports` once per process; they stay alive as long as NumPy itself, which cannot be unloaded.
//   error_state(): NumPy 2 keeps the error state in an immutable object inside a context variable. The last
//   object seen is kept (owned, so its address cannot be reused) with its packed meaning; a different object
//   is asked through np.geterr().
#define SUTURE_OWNS_NUMPY_C_API
#include "cpython/numpy_api.h"

#include "cpython/discard_error.h"
#include "cpython/ndarray.h"

#include <numpy/arrayscalars.h>
#include <numpy/npy_math.h>

#include <fmt/format.h>

#include <algorithm>
#include <cfenv>
#include <cstring>

namespace suture {

NumpyObjects numpy_objects;

namespace {

constexpr int kFirstSupportedMajor = 2;
constexpr int kErrorFieldMask = (1 << kErrorFieldBits) - 1;
constexpr int kErrorFieldCount = 4;
constexpr const char* kErrorFieldNames[kErrorFieldCount] = {"divide", "over", "under", "invalid"};
constexpr const char* kErrorModeNames[] = {"ignore", "warn", "raise", "call", "print", "log"};
constexpr int kEverythingWatched = 2 | 2 << 3 | 2 << 6 | 2 << 9;  // raise for all: nothing is missed

// Python-level objects; never released, as NumPy itself never is.
struct Imports {
  PyObject* names = nullptr;  // numpy.__dict__ as it was
  PyObject* geterr = nullptr;
  PyObject* shares_memory = nullptr;
  PyObject* error_variable = nullptr;  // null: this NumPy keeps the state elsewhere; geterr is always asked
  PyObject* last_error_object = nullptr;
  PyObject* make_error_object = nullptr;
  struct Raising {
    PyObject* made_from = nullptr;
    PyObject* object = nullptr;
  } raising[2];  // per RaisingErrorState::Conditions
  int last_error_state = 0;
  bool done = false;
};
Imports imports;

PyArrayObject* as_array(PyView object) noexcept { return reinterpret_cast<PyArrayObject*>(object); }

Status check_version(PyView numpy) {
  PyRef version = PyRef::steal(PyObject_GetAttrString(numpy, "__version__"));
  const char* text = version && PyUnicode_Check(version.get()) ? PyUnicode_AsUTF8(version.get()) : nullptr;
  if (text == nullptr) return Error::python("import_numpy");
  if (std::atoi(text) >= kFirstSupportedMajor) return ok_status();
  PyErr_Format(PyExc_ImportError, "suture needs NumPy >= 2.0, found %s. Upgrade with: pip install -U numpy",
               text);
  return Error::python("import_numpy");
}

void fill_numpy_objects() {
  numpy_objects.ndarray = &PyArray_Type;
  for (int i = 0; i < kDTypeCount; ++i) {
    const int typenum = info(static_cast<DType>(i)).numpy_typenum;
    numpy_objects.descriptors[i] = PyArray_DescrFromType(typenum);
    numpy_objects.scalar_types[i] = numpy_objects.descriptors[i]->typeobj;
  }
}

Status fill_imports(PyView numpy) {
  imports.geterr = PyObject_GetAttrString(numpy, "geterr");
  imports.shares_memory = PyObject_GetAttrString(numpy, "shares_memory");
  if (imports.geterr == nullptr || imports.shares_memory == nullptr) return Error::python("import_numpy");
  PyRef umath = PyRef::steal(PyImport_ImportModule("numpy._core.umath"));
  imports.error_variable = umath ? PyObject_GetAttrString(umath.get(), "_extobj_contextvar") : nullptr;
  if (imports.error_variable != nullptr && !PyContextVar_CheckExact(imports.error_variable))
    Py_CLEAR(imports.error_variable);
  imports.make_error_object = umath ? PyObject_GetAttrString(umath.get(), "_make_extobj") : nullptr;
  discard_error();  // a missing private name only costs speed
  return ok_status();
}

// The fields of np.geterr(), or everything watched when NumPy itself fails.
int ask_geterr() {
  PyRef fields = PyRef::steal(PyObject_CallNoArgs(imports.geterr));
  int state = 0;
  for (int i = 0; fields && i < kErrorFieldCount; ++i) {
    PyView mode = PyDict_GetItemString(fields.get(), kErrorFieldNames[i]);
    int value = -1;
    for (int m = 0; mode != nullptr && m < static_cast<int>(std::size(kErrorModeNames)); ++m)
      if (PyUnicode_CompareWithASCIIString(mode, kErrorModeNames[m]) == 0) value = m;
    if (value < 0) return kEverythingWatched;
    state |= value << (i * kErrorFieldBits);
  }
  if (fields) return state;
  discard_error();
  return kEverythingWatched;
}

std::optional<DType> dtype_of_descriptor(const PyArray_Descr* descriptor) noexcept {
  const std::optional<DType> dtype = dtype_from_typenum(descriptor->type_num);
  if (!dtype) return std::nullopt;
  if (descriptor == numpy_objects.descriptors[static_cast<int>(*dtype)]) return dtype;
  return is_equal_descriptor(descriptor, *dtype) ? dtype : std::nullopt;
}

struct ByteStrides {
  npy_intp values[NPY_MAXDIMS];
  ByteStrides(std::span<const int64_t> in_elements, int itemsize) {
    for (size_t i = 0; i < in_elements.size(); ++i) values[i] = in_elements[i] * itemsize;
  }
};

PyArray_Descr* owned_descriptor(DType dtype) {
  PyArray_Descr* descriptor = numpy_objects.descriptors[static_cast<int>(dtype)];
  Py_INCREF(descriptor);
  return descriptor;
}

// Lowest and one past the highest byte an array touches; false when it touches none.
bool byte_range(PyView array, const char** low, const char** high) noexcept {
  const PyArrayObject_fields* fields = array_fields(array);
  *low = fields->data;
  *high = fields->data + PyArray_ITEMSIZE(as_array(array));
  for (int i = 0; i < fields->nd; ++i) {
    if (fields->dimensions[i] == 0) return false;
    const npy_intp reach = (fields->dimensions[i] - 1) * fields->strides[i];
    (reach < 0 ? *low : *high) += reach;
  }
  return true;
}

bool is_dense(PyView array) noexcept {
  return (array_fields(array)->flags & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) != 0;
}

}  // namespace

Status import_numpy() {
  if (imports.done) return ok_status();
  PyRef numpy = PyRef::steal(PyImport_ImportModule("numpy"));
  if (!numpy) return Error::python("import_numpy");
  SUTURE_TRY_VOID(check_version(numpy.get()));
  if (_import_array() < 0) return Error::python("import_numpy");
  fill_numpy_objects();
  imports.names = PyDict_Copy(PyModule_GetDict(numpy.get()));
  if (imports.names == nullptr) return Error::python("import_numpy");
  SUTURE_TRY_VOID(fill_imports(numpy.get()));
  imports.done = true;
  return ok_status();
}

bool is_equal_descriptor(const PyArray_Descr* descriptor, DType dtype) noexcept {
  // Metadata would have to travel to results as NumPy makes it travel; such arrays are left to NumPy.
  return descriptor->type_num == info(dtype).numpy_typenum && PyArray_ISNBO(descriptor->byteorder) &&
         PyDataType_METADATA(descriptor) == nullptr;
}

bool has_new_strides(PyView array, char order) noexcept {
  const PyArrayObject_fields* fields = array_fields(array);
  const int rank = fields->nd;
  const bool empty = std::find(fields->dimensions, fields->dimensions + rank, 0) != fields->dimensions + rank;
  npy_intp stride = empty ? 0 : PyDataType_ELSIZE(fields->descr);
  for (int i = 0; i < rank; ++i) {
    const int axis = order == 'F' ? i : rank - 1 - i;
    if (fields->strides[axis] != stride) return false;
    stride *= fields->dimensions[axis];
  }
  return true;
}

bool is_exact_ndarray(PyView object) noexcept { return is_exact_array(object); }
bool is_any_ndarray(PyView object) noexcept { return PyArray_Check(object); }

ArrayFacts array_facts(PyView array) noexcept {
  const PyArrayObject_fields* fields = array_fields(array);
  ArrayFacts facts{};
  facts.data = fields->data;
  facts.ndim = fields->nd;
  facts.shape = reinterpret_cast<const int64_t*>(fields->dimensions);
  facts.strides = reinterpret_cast<const int64_t*>(fields->strides);
  facts.dtype = dtype_of_descriptor(fields->descr);
  facts.writeable = (fields->flags & NPY_ARRAY_WRITEABLE) != 0;
  facts.c_contiguous = (fields->flags & NPY_ARRAY_C_CONTIGUOUS) != 0;
  facts.f_contiguous = (fields->flags & NPY_ARRAY_F_CONTIGUOUS) != 0;
  facts.plain = is_exact_array(array) && facts.dtype && (fields->flags & NPY_ARRAY_ALIGNED) != 0 &&
                (fields->flags & NPY_ARRAY_WRITEBACKIFCOPY) == 0 &&
                has_whole_strides(array, itemsize(*facts.dtype));
  return facts;
}

std::optional<DType> numpy_scalar_dtype(PyView object) noexcept {
  for (int i = 0; i < kDTypeCount; ++i)
    if (Py_TYPE(object) == numpy_objects.scalar_types[i]) return static_cast<DType>(i);
  return std::nullopt;
}

bool read_numpy_scalar(PyView object, DType dtype, void* out) noexcept {
  if (Py_TYPE(object) != numpy_objects.scalar_types[static_cast<int>(dtype)]) return false;
  PyArray_ScalarAsCtype(object, out);
  return true;
}

namespace {

// The three dtypes that most scalars have, without PyArray_Scalar's detour over the descriptor.
template <class Object, class Value>
PyRef scalar_object(PyTypeObject* type, const void* value) {
  PyObject* object = type->tp_alloc(type, 0);
  if (object) reinterpret_cast<Object*>(object)->obval = *static_cast<const Value*>(value);
  return PyRef::steal(object);
}

}  // namespace

PyRef make_numpy_scalar(DType dtype, const void* value) {
  if (dtype == DType::kFloat64)
    return scalar_object<PyDoubleScalarObject, double>(&PyDoubleArrType_Type, value);
  if (dtype == DType::kFloat32) return scalar_object<PyFloatScalarObject, float>(&PyFloatArrType_Type, value);
  if (dtype == DType::kInt64) return scalar_object<PyLongScalarObject, int64_t>(&PyLongArrType_Type, value);
  if (dtype == DType::kBool)
    return PyRef::borrow(*static_cast<const bool*>(value) ? PyArrayScalar_True : PyArrayScalar_False);
  PyArray_Descr* descriptor = numpy_objects.descriptors[static_cast<int>(dtype)];
  return PyRef::steal(PyArray_Scalar(const_cast<void*>(value), descriptor, nullptr));
}

PyRef new_array(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides_in_elements) {
  ByteStrides strides(strides_in_elements, itemsize(dtype));
  auto* dims = reinterpret_cast<const npy_intp*>(shape.data());
  return PyRef::steal(PyArray_NewFromDescr(&PyArray_Type, owned_descriptor(dtype),
                                           static_cast<int>(shape.size()), dims,
                                           shape.empty() ? nullptr : strides.values, nullptr, 0, nullptr));
}

PyRef new_view(PyView base_array, void* data, DType dtype, std::span<const int64_t> shape,
               std::span<const int64_t> strides_in_elements, bool writeable) {
  ByteStrides strides(strides_in_elements, itemsize(dtype));
  auto* dims = reinterpret_cast<const npy_intp*>(shape.data());
  PyRef view = PyRef::steal(PyArray_NewFromDescr(&PyArray_Type, owned_descriptor(dtype),
                                                 static_cast<int>(shape.size()), dims, strides.values, data,
                                                 writeable ? NPY_ARRAY_WRITEABLE : 0, nullptr));
  if (!view) return view;
  Py_INCREF(base_array);  // stolen by the next call, also when it fails; it collapses chains of views
  if (PyArray_SetBaseObject(as_array(view.get()), base_array) < 0) return {};
  return view;
}

PyRef wrap_memory(void* data, DType dtype, std::span<const int64_t> shape,
                  std::span<const int64_t> strides_in_elements) {
  ByteStrides strides(strides_in_elements, itemsize(dtype));
  auto* dims = reinterpret_cast<const npy_intp*>(shape.data());
  return PyRef::steal(PyArray_NewFromDescr(&PyArray_Type, owned_descriptor(dtype),
                                           static_cast<int>(shape.size()), dims, strides.values, data,
                                           NPY_ARRAY_WRITEABLE, nullptr));
}

PyRef copy_array(PyView array) { return PyRef::steal(PyArray_NewCopy(as_array(array), NPY_KEEPORDER)); }

bool copy_into(PyView destination, PyView source) {
  return PyArray_CopyInto(as_array(destination), as_array(source)) == 0;
}

void* array_data(PyView array) noexcept { return array_fields(array)->data; }

bool may_share_memory(PyView a, PyView b) noexcept {
  const char *low_a, *high_a, *low_b, *high_b;
  if (!is_any_ndarray(a) || !is_any_ndarray(b)) return false;
  if (!byte_range(a, &low_a, &high_a) || !byte_range(b, &low_b, &high_b)) return false;
  return low_a < high_b && low_b < high_a;
}

bool shares_memory_exact(PyView a, PyView b) noexcept {
  if (!may_share_memory(a, b)) return false;
  if (a == b || (is_dense(a) && is_dense(b))) return true;
  PyRef work = PyRef::steal(PyLong_FromSsize_t(kMaxOverlapWork));
  PyObject* arguments[] = {a, b, work.get()};
  PyRef answer =
      work ? PyRef::steal(PyObject_Vectorcall(imports.shares_memory, arguments, 3, nullptr)) : PyRef();
  if (!answer) discard_error();
  return answer.get() != Py_False;
}

std::string dtype_text(PyView array) {
  PyRef text = PyRef::steal(PyObject_Str(reinterpret_cast<PyObject*>(array_fields(array)->descr)));
  const char* utf8 = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  if (utf8 != nullptr) return utf8;
  discard_error();
  return "?";
}

PyView numpy_names() noexcept { return imports.names; }

int error_state() noexcept {
  if (imports.error_variable == nullptr) return ask_geterr();
  PyObject* object = nullptr;
  if (PyContextVar_Get(imports.error_variable, nullptr, &object) < 0 || object == nullptr) {
    discard_error();
    return ask_geterr();
  }
  if (object == imports.last_error_object) {
    Py_DECREF(object);
    return imports.last_error_state;
  }
  imports.last_error_state = ask_geterr();
  Py_XSETREF(imports.last_error_object, object);
  return imports.last_error_state;
}

namespace {

// The current error object with every mode, or every one that is not "ignore", turned into "raise"; borrowed,
// null when it cannot be made.
PyObject* raising_error_object(RaisingErrorState::Conditions conditions) noexcept {
  const bool all = conditions == RaisingErrorState::Conditions::kAll;
  Imports::Raising& known = imports.raising[all];
  const int state = error_state();
  if (known.made_from != nullptr && known.made_from == imports.last_error_object) return known.object;
  if (imports.make_error_object == nullptr || imports.last_error_object == nullptr) return nullptr;
  PyRef modes = PyRef::steal(PyDict_New());
  for (int i = 0; modes && i < kErrorFieldCount; ++i) {
    const bool ignored = !all && ((state >> (i * kErrorFieldBits)) & kErrorFieldMask) == 0;
    PyRef mode = PyRef::steal(PyUnicode_FromString(ignored ? "ignore" : "raise"));
    if (!mode || PyDict_SetItemString(modes.get(), kErrorFieldNames[i], mode.get()) < 0) return nullptr;
  }
  PyRef empty = PyRef::steal(PyTuple_New(0));
  PyRef made = empty && modes
                   ? PyRef::steal(PyObject_Call(imports.make_error_object, empty.get(), modes.get()))
                   : PyRef();
  if (!made) return nullptr;
  Py_XSETREF(known.object, made.release());
  Py_XSETREF(known.made_from, PyRef::borrow(imports.last_error_object).release());
  return known.object;
}

}  // namespace

RaisingErrorState::RaisingErrorState(Conditions conditions) noexcept {
  PyObject* object = raising_error_object(conditions);
  if (object != nullptr) token_ = PyContextVar_Set(imports.error_variable, object);
  if (token_ == nullptr) discard_error();
}

RaisingErrorState::~RaisingErrorState() {
  if (token_ == nullptr) return;
  stop_if_interpreter_is_gone();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  if (PyContextVar_Reset(imports.error_variable, token_) < 0) discard_error();
  Py_DECREF(token_);
  PyErr_Restore(type, value, traceback);
}

int watched_fp_flags(int state) noexcept {
  constexpr int kFlags[kErrorFieldCount] = {FE_DIVBYZERO, FE_OVERFLOW, FE_UNDERFLOW, FE_INVALID};
  int watched = 0;
  for (int i = 0; i < kErrorFieldCount; ++i)
    if ((state >> (i * kErrorFieldBits)) & kErrorFieldMask) watched |= kFlags[i];
  return watched;
}

std::optional<DType> dtype_from_object(PyView dtype_like) {
  if (dtype_like == nullptr || dtype_like == Py_None) return std::nullopt;
  // Anything else that NumPy accepts is asked for attributes, which may be user code.
  const bool builtin_class = PyType_Check(dtype_like) &&
                             !(reinterpret_cast<PyTypeObject*>(dtype_like)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  const bool is_class = builtin_class || (PyType_Check(dtype_like) &&
                                          PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(dtype_like),
                                                           &PyGenericArrType_Type));
  if (!is_class && !PyArray_DescrCheck(dtype_like) && !PyUnicode_CheckExact(dtype_like)) return std::nullopt;
  PyArray_Descr* descriptor = nullptr;
  if (PyArray_DescrConverter(dtype_like, &descriptor) != NPY_SUCCEED || descriptor == nullptr) {
    discard_error();
    return std::nullopt;
  }
  const std::optional<DType> dtype = dtype_of_descriptor(descriptor);
  Py_DECREF(descriptor);
  return dtype;
}

PyRef dtype_object(DType dtype) {
  return PyRef::borrow(reinterpret_cast<PyObject*>(numpy_objects.descriptors[static_cast<int>(dtype)]));
}

}  // namespace suture
