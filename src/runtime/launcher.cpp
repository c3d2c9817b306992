// See launcher.h.
#include "runtime/launcher.h"

#include <algorithm>
#include <cstring>

#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"
#include "runtime/arena.h"
#include "runtime/fp_status.h"
#include "runtime/output_memory.h"
#include "runtime/saved_inputs.h"

namespace suture {

// State of one call. Vectors keep their capacity from call to call.
struct Launcher::Frame {
  LaunchLayout layout;
  bool has_layout = false;
  std::vector<int64_t> symbols, layout_symbols;
  std::vector<void*> pointers;     // per buffer: first element
  std::vector<uint64_t> scalars;   // per buffer: memory of scalars
  std::vector<PyObject*> objects;  // per buffer: owned object, or null
  std::vector<void*> arguments;    // of the kernel being launched
  SavedInputs saved;
  Arena arena;
  uint32_t status = 0;
  int fp_flags = 0;
  bool new_sizes = false;  // than in the call before
  RunWatch::Session session;

  Frame(const LaunchPlan& plan, int symbol_count)
      : symbols(static_cast<size_t>(symbol_count)),
        pointers(plan.buffers.size()),
        scalars(plan.buffers.size()),
        objects(plan.buffers.size()) {}
  ~Frame() { release_objects(); }

  void release_objects() {
    for (PyObject*& object : objects) let_go(std::exchange(object, nullptr));
  }
};

namespace {

bool is_scalar(const BufferSpec& spec) { return spec.value_class != ValueClass::kArray; }

// The replay callable may have raised, or anything else is wrong: the reason becomes the cause of a clean
// error.
bool wrong_replay_result(PyView result, size_t expected) {
  const Py_ssize_t size = PyTuple_Check(result) ? PyTuple_GET_SIZE(result) : -1;
  PyErr_Format(PyExc_TypeError, "a graph callable must return a tuple of %zd outputs, not %s of %zd",
               static_cast<Py_ssize_t>(expected), Py_TYPE(result)->tp_name, size);
  return false;
}

bool owns_planned_layout(PyView array, const BufferSpec& spec, std::span<const int64_t> shape,
                         std::span<const int64_t> strides) {
  if (!is_exact_array(array) || !has_dtype(array, spec.dtype)) return false;
  const PyArrayObject_fields* fields = array_fields(array);
  if (fields->base != nullptr || fields->nd != static_cast<int>(shape.size())) return false;
  const int64_t size = itemsize(spec.dtype);
  bool same_strides = true, empty = false;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (fields->dimensions[i] != shape[i]) return false;
    empty |= shape[i] == 0;
    same_strides &= shape[i] == 1 || fields->strides[i] == strides[i] * size;
  }
  return same_strides || empty;
}

}  // namespace

Launcher::Launcher(NativeGraph native) : native_(std::move(native)) {}

Launcher::~Launcher() = default;

Result<std::unique_ptr<Launcher>> Launcher::build(NativeGraph native) {
  std::unique_ptr<Launcher> launcher(new Launcher(std::move(native)));
  SUTURE_TRY_VOID(launcher->resolve_steps());
  SUTURE_TRY_VOID(launcher->sort_buffers());
  const LaunchPlan& plan = launcher->native_.plan;
  launcher->static_ = is_static(plan);
  const bool all_inputs = launcher->native_.mutates_inputs && plan.written.empty();
  if (!plan.can_replay) return launcher;
  for (int buffer : all_inputs ? launcher->inputs_ : plan.written) {
    const BufferSpec& spec = plan.buffers[static_cast<size_t>(root_of(plan, buffer))];
    if (spec.kind == BufferSpec::Kind::kInput && !is_scalar(spec))
      launcher->saved_inputs_.push_back(spec.input);
  }
  return launcher;
}

Status Launcher::sort_buffers() {
  const LaunchPlan& plan = native_.plan;
  std::vector<char> made_by_numpy(plan.buffers.size());
  for (const LaunchStep& step : plan.steps)
    if (step.kind == LaunchStep::Kind::kNumpyCall) made_by_numpy[static_cast<size_t>(step.result)] = 1;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const BufferSpec& spec = plan.buffers[b];
    const int id = static_cast<int>(b);
    switch (spec.kind) {
      case BufferSpec::Kind::kInput:
        inputs_.push_back(id);
        input_count_ = std::max(input_count_, static_cast<size_t>(spec.input) + 1);
        break;
      case BufferSpec::Kind::kTemp: temporaries_.push_back(id); break;
      case BufferSpec::Kind::kView:
        if (spec.base < 0 || spec.base >= id)
          return Error::internal("runtime", "a view stands before its base");
        views_.push_back(id);
        break;
      case BufferSpec::Kind::kOutput:
        if (is_scalar(spec))
          scalars_.push_back(id);
        else if (!made_by_numpy[b])
          arrays_.push_back(id);
    }
  }
  return ok_status();
}

Status Launcher::resolve_steps() {
  const LaunchPlan& plan = native_.plan;
  for (const LaunchStep& planned : plan.steps) {
    Step step;
    if (planned.kind == LaunchStep::Kind::kKernel) {
      step.kernel = native_.library ? native_.library->find(planned.kernel) : nullptr;
      if (!step.kernel)
        return Error::internal("runtime", "kernel " + planned.kernel + " is not in its library");
    } else {
      SUTURE_TRY(numpy, NumpyStep::build(planned));
      step.numpy = std::move(numpy);
    }
    steps_.push_back(std::move(step));
  }
  for (int buffer : plan.outputs)
    if (plan.buffers[static_cast<size_t>(root_of(plan, buffer))].kind == BufferSpec::Kind::kTemp)
      return Error::internal("runtime", "an output lives in a temporary");
  return ok_status();
}

Launcher::Ending Launcher::run(std::span<PyObject* const> inputs, std::span<PyObject*> outputs) {
  std::unique_ptr<Frame> frame =
      frame_ ? std::move(frame_) : std::make_unique<Frame>(native_.plan, native_.symbol_count);
  const Ending ending = run_in(*frame, inputs, outputs);
  if (frame->session) watch_->ended(std::exchange(frame->session, {}));
  frame->release_objects();
  frame->saved.clear();
  frame->arena.trim();
  frame_ = std::move(frame);
  return ending;
}

Launcher::Ending Launcher::run_in(Frame& frame, std::span<PyObject* const> inputs,
                                  std::span<PyObject*> outputs) {
  const Outcome outcome = launch(frame, inputs);
  if (outcome == Outcome::kDone && collect(frame, inputs, outputs)) return Ending::kDone;
  if (outcome != Outcome::kReplay) {
    // An array that cannot be, or memory that NumPy cannot get either: NumPy says so itself, where the user's
    // handlers see it.
    const bool written = native_.mutates_inputs && !native_.plan.can_replay;  // and nothing was saved
    const bool again = !written && (outcome == Outcome::kDone || native_.again == RunAgain::kFrame);
    if (!again || !PyErr_ExceptionMatches(PyExc_Exception)) return Ending::kRaised;
    discard_error();
  }
  if (!frame.saved.restore()) return Ending::kRaised;
  if (native_.on_replay) native_.on_replay(frame.status, frame.fp_flags);
  if (native_.again == RunAgain::kFrame) return Ending::kRerunFrame;
  return replay(inputs, outputs) ? Ending::kDone : Ending::kRaised;
}

Launcher::Outcome Launcher::launch(Frame& frame, std::span<PyObject* const> inputs) {
  frame.status = 0;
  frame.fp_flags = 0;
  if (!update_layout(frame, inputs) || !load_inputs(frame, inputs)) return Outcome::kReplay;
  if (watch_ && (frame.new_sizes || watch_->every_run())) frame.session = watch_->begins(inputs);
  frame.new_sizes = false;
  const Outcome allocated = allocate(frame);
  if (allocated != Outcome::kDone) return allocated;
  if (!saved_inputs_.empty() &&
      !frame.saved.save(native_.plan, frame.layout, frame.pointers, inputs, saved_inputs_))
    return Outcome::kError;  // nothing was written yet
  return run_steps(frame, inputs);
}

bool Launcher::bind_symbols(Frame& frame, std::span<PyObject* const> inputs) const {
  for (const NativeGraph::InputBinding& binding : native_.bindings) {
    if (binding.input < 0 || static_cast<size_t>(binding.input) >= inputs.size()) continue;
    PyView input = inputs[static_cast<size_t>(binding.input)];
    int64_t& symbol = frame.symbols[static_cast<size_t>(binding.symbol)];
    if (binding.axis < 0) {
      if (!unpack_scalar(input, ValueClass::kPyInt, DType::kInt64, &symbol)) return false;
    } else {
      if (!is_exact_array(input) || binding.axis >= array_fields(input)->nd) return false;
      const PyArrayObject_fields* fields = array_fields(input);
      symbol = binding.stride ? fields->strides[binding.axis] / PyDataType_ELSIZE(fields->descr)
                              : fields->dimensions[binding.axis];
    }
  }
  return true;
}

bool Launcher::update_layout(Frame& frame, std::span<PyObject* const> inputs) const {
  if (frame.has_layout && static_) return frame.layout.valid;
  if (!static_ && !bind_symbols(frame, inputs)) return false;
  if (frame.has_layout && frame.symbols == frame.layout_symbols) return frame.layout.valid;
  evaluate_layout(native_.plan, frame.symbols, frame.layout);
  frame.layout_symbols = frame.symbols;
  frame.has_layout = frame.new_sizes = true;
  return frame.layout.valid;
}

bool Launcher::load_inputs(Frame& frame, std::span<PyObject* const> inputs) const {
  for (int id : inputs_) {
    const auto b = static_cast<size_t>(id);
    const BufferSpec& spec = native_.plan.buffers[b];
    PyView input = inputs[static_cast<size_t>(spec.input)];
    if (!is_scalar(spec)) {
      if (!is_exact_array(input)) return false;
      frame.pointers[b] = array_fields(input)->data;
    } else {
      if (!unpack_scalar(input, spec.value_class, spec.dtype, &frame.scalars[b])) return false;
      frame.pointers[b] = &frame.scalars[b];
    }
  }
  return true;
}

// Nothing has happened yet: where there is no memory, NumPy says so itself, or gets along with less.
Launcher::Outcome Launcher::allocate(Frame& frame) const {
  char* arena = static_cast<char*>(frame.arena.reserve(frame.layout.arena_bytes));
  if (arena == nullptr && frame.layout.arena_bytes > 0) return Outcome::kReplay;
  for (int id : temporaries_)
    frame.pointers[static_cast<size_t>(id)] =
        arena + frame.layout.buffers[static_cast<size_t>(id)].arena_offset;
  for (int id : scalars_) frame.pointers[static_cast<size_t>(id)] = &frame.scalars[static_cast<size_t>(id)];
  for (int id : arrays_) {
    const auto b = static_cast<size_t>(id);
    PyRef array = new_output(native_.plan.buffers[b].dtype, frame.layout.shape(id), frame.layout.stride(id),
                             frame.layout.buffers[b].bytes);
    if (!array) return discard_error(), Outcome::kReplay;
    frame.pointers[b] = array_fields(array.get())->data;
    frame.objects[b] = array.release();
  }
  place_views(frame);
  return Outcome::kDone;
}

void Launcher::place_views(Frame& frame) const {
  for (int id : views_) {
    const auto b = static_cast<size_t>(id);
    char* base = static_cast<char*>(frame.pointers[static_cast<size_t>(native_.plan.buffers[b].base)]);
    frame.pointers[b] = base ? base + frame.layout.buffers[b].byte_offset : nullptr;
  }
}

Launcher::Outcome Launcher::run_steps(Frame& frame, std::span<PyObject* const> inputs) {
  clear_fp_status();
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (recorder_) recorder_->step_begins(s);
    if (steps_[s].kernel == nullptr) {
      frame.fp_flags |= fp_status();  // NumPy clears the flags for itself
      const Outcome outcome = run_numpy(frame, inputs, s);
      if (outcome != Outcome::kDone) return outcome;
      clear_fp_status();
      continue;
    }
    const LaunchStep& planned = native_.plan.steps[s];
    frame.arguments.resize(planned.buffers.size());
    for (size_t i = 0; i < planned.buffers.size(); ++i)
      frame.arguments[i] = frame.pointers[static_cast<size_t>(planned.buffers[i])];
    frame.status |=
        steps_[s].kernel(frame.arguments.data(), frame.layout.sizes.data() + frame.layout.first_size[s]);
  }
  frame.fp_flags |= fp_status();
  if (recorder_) recorder_->step_begins(steps_.size());
  return must_replay(frame) ? Outcome::kReplay : Outcome::kDone;
}

bool Launcher::must_replay(Frame& frame) const {
  if (!native_.plan.can_replay) return false;
  if (frame.status != 0) return true;
  return frame.fp_flags != 0 && (frame.fp_flags & watched_fp_flags(error_state())) != 0;
}

Launcher::Outcome Launcher::run_numpy(Frame& frame, std::span<PyObject* const> inputs, size_t step) {
  const LaunchStep& planned = native_.plan.steps[step];
  std::vector<PyRef> owned;
  std::vector<PyObject*> operands;
  for (int buffer : planned.buffers) {
    owned.push_back(object_of(frame, inputs, buffer));
    if (!owned.back()) return Outcome::kError;
    operands.push_back(owned.back().get());
  }
  PyRef result;
  {
    RaisingErrorState raising;
    result = steps_[step].numpy.call(operands);
  }
  // Whatever NumPy had to say, it says it again in the replay, at the user's line.
  if (!result && PyErr_ExceptionMatches(PyExc_Exception)) return discard_error(), Outcome::kReplay;
  if (!result) return Outcome::kError;
  if (recorder_) recorder_->numpy_step(step, result.get());
  if (accept_result(frame, planned.result, std::move(result))) return Outcome::kDone;
  return PyErr_Occurred() ? Outcome::kError : Outcome::kReplay;
}

// Takes NumPy's result as the buffer's memory; another layout than planned is copied into the planned one.
bool Launcher::accept_result(Frame& frame, int buffer, PyRef result) const {
  const auto b = static_cast<size_t>(buffer);
  const BufferSpec& spec = native_.plan.buffers[b];
  if (is_scalar(spec)) {
    frame.pointers[b] = &frame.scalars[b];
    return unpack_scalar(result.get(), spec.value_class, spec.dtype, &frame.scalars[b]);
  }
  const std::span<const int64_t> shape = frame.layout.shape(buffer), strides = frame.layout.stride(buffer);
  if (!owns_planned_layout(result.get(), spec, shape, strides)) {
    PyRef array = new_array(spec.dtype, shape, strides);
    if (!array) return false;
    if (is_exact_array(result.get())) {
      if (!has_dtype(result.get(), spec.dtype) || !copy_into(array.get(), result.get())) return false;
    } else if (!shape.empty() || !read_numpy_scalar(result.get(), spec.dtype, array_data(array.get()))) {
      return false;
    }
    result = std::move(array);
  }
  frame.pointers[b] = array_data(result.get());
  Py_XSETREF(frame.objects[b], result.release());
  place_views(frame);  // those of this buffer had no memory so far
  return true;
}

// The Python object of a buffer: made at most once per call, so that a value returned twice is one object.
PyRef Launcher::object_of(Frame& frame, std::span<PyObject* const> inputs, int buffer) const {
  const auto b = static_cast<size_t>(buffer);
  const BufferSpec& spec = native_.plan.buffers[b];
  if (spec.kind == BufferSpec::Kind::kInput) return PyRef::borrow(inputs[static_cast<size_t>(spec.input)]);
  if (frame.objects[b]) return PyRef::borrow(frame.objects[b]);
  PyRef made;
  if (is_scalar(spec)) {
    made = pack_scalar(spec.value_class, spec.dtype, frame.pointers[b]);
  } else if (spec.kind == BufferSpec::Kind::kView &&
             native_.plan.buffers[static_cast<size_t>(root_of(native_.plan, buffer))].kind !=
                 BufferSpec::Kind::kTemp) {
    PyRef base = object_of(frame, inputs, spec.base);
    if (!base) return {};
    const bool writeable = spec.writeable && (array_fields(base.get())->flags & NPY_ARRAY_WRITEABLE) != 0;
    made = new_view(base.get(), frame.pointers[b], spec.dtype, frame.layout.shape(buffer),
                    frame.layout.stride(buffer), writeable);
  } else {
    made =
        wrap_memory(frame.pointers[b], spec.dtype, frame.layout.shape(buffer), frame.layout.stride(buffer));
  }
  if (!made) return made;
  frame.objects[b] = PyRef(made).release();
  return made;
}

bool Launcher::collect(Frame& frame, std::span<PyObject* const> inputs, std::span<PyObject*> outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i) {
    PyRef object = object_of(frame, inputs, native_.plan.outputs[i]);
    if (!object) {
      for (size_t done = 0; done < i; ++done) Py_CLEAR(outputs[done]);
      return false;
    }
    outputs[i] = object.release();
  }
  return true;
}

bool Launcher::replay(std::span<PyObject* const> inputs, std::span<PyObject*> outputs) const {
  if (!native_.replay) {
    PyErr_SetString(PyExc_RuntimeError, "the compiled graph was cleared");
    return false;
  }
  PyRef callable = native_.replay;
  PyRef result = PyRef::steal(PyObject_Vectorcall(callable.get(), inputs.data(), inputs.size(), nullptr));
  if (!result) return false;
  if (!PyTuple_Check(result.get()) ||
      PyTuple_GET_SIZE(result.get()) != static_cast<Py_ssize_t>(outputs.size()))
    return wrong_replay_result(result.get(), outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i)
    outputs[i] = PyRef::borrow(PyTuple_GET_ITEM(result.get(), static_cast<Py_ssize_t>(i))).release();
  return true;
}

int Launcher::traverse(visitproc visit, void* arg) const {
  Py_VISIT(native_.replay.get());
  return 0;
}

}  // namespace suture
