#include "driver/measure.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>

#include "cpython/discard_error.h"
#include "cpython/numpy_api.h"
#include "driver/hooks.h"
#include "runtime/compiled_graph.h"

namespace suture {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kRounds = 5;
constexpr double kShortestRoundMs = 0.05;  // shorter ones are repeated: the clock itself costs some 0.00003
constexpr int64_t kMostRepeats = 1 << 10;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// Milliseconds per call, the best of the rounds; empty when a call failed.
template <class Call>
std::optional<double> best_ms(Call call) {
  const auto start = Clock::now();
  double best = -1;
  int64_t repeats = 1;
  for (int round = 0; round < kRounds && (round == 0 || ms_since(start) < kMeasureBudgetMs);) {
    const auto begin = Clock::now();
    for (int64_t i = 0; i < repeats; ++i)
      if (!call()) return std::nullopt;
    const double spent = ms_since(begin);
    if (spent < kShortestRoundMs && repeats < kMostRepeats) {
      repeats *= 4;
      continue;
    }
    const double each = spent / static_cast<double>(repeats);
    best = best < 0 ? each : std::min(best, each);
    ++round;
  }
  return best;
}

// NumPy's floating-point warnings are off while alive: results do not depend on them.
class QuietNumpy {
 public:
  QuietNumpy() {
    PyView errstate = PyDict_GetItemString(numpy_names(), "errstate");
    PyRef none = PyRef::steal(PyTuple_New(0)), ignore = PyRef::steal(Py_BuildValue("{ss}", "all", "ignore"));
    if (errstate && none && ignore) state_ = PyRef::steal(PyObject_Call(errstate, none.get(), ignore.get()));
    PyRef entered = state_ ? PyRef::steal(PyObject_CallMethod(state_.get(), "__enter__", nullptr)) : PyRef();
    if (!entered) state_ = {};
    discard_error();
  }
  ~QuietNumpy() {
    stop_if_interpreter_is_gone();
    if (!state_) return;
    PyRef left =
        PyRef::steal(PyObject_CallMethod(state_.get(), "__exit__", "OOO", Py_None, Py_None, Py_None));
    discard_error();
  }
  QuietNumpy(const QuietNumpy&) = delete;
  QuietNumpy& operator=(const QuietNumpy&) = delete;
  bool entered() const { return static_cast<bool>(state_); }

 private:
  PyRef state_;
};

// What reading the clock twice costs by itself.
double clock_ms() {
  static const double best = [] {
    double shortest = 1;
    for (int i = 0; i < 100; ++i) {
      const auto begin = Clock::now();
      shortest = std::min(shortest, ms_since(begin));
    }
    return shortest;
  }();
  return best;
}

// Keeps the best time of every step.
class StepClock : public RunRecorder {
 public:
  explicit StepClock(std::vector<double>& best) : best_(best) {}
  void before(std::span<PyObject* const>) override {}
  void step_begins(size_t step) override {
    const auto now = Clock::now();
    if (step > 0) {
      if (best_.size() < step) best_.resize(step, -1);
      const double spent = std::chrono::duration<double, std::milli>(now - last_).count();
      const double ms = std::max(spent - clock_ms(), 0.0);
      double& best = best_[step - 1];
      best = best < 0 ? ms : std::min(best, ms);
    }
    // The first inexact result after the flags were cleared waits some 60 ns for its flag: that belongs to the call.
    inexact_ = 1 / three_;
    last_ = Clock::now();
  }
  void numpy_step(size_t, PyView) override {}
  void after(std::span<PyObject* const>) override {}
  void failed() override {}

 private:
  std::vector<double>& best_;
  Clock::time_point last_;
  volatile double inexact_ = 0, three_ = 3;
};

bool run_once(PyView compiled_graph, std::span<PyObject* const> inputs, std::vector<PyObject*>& outputs) {
  std::ranges::fill(outputs, nullptr);
  if (!run_compiled_graph(compiled_graph, inputs, outputs)) return false;
  for (PyObject* output : outputs) Py_XDECREF(output);
  return true;
}

// Beside floating-point conditions NumPy warns of reductions of nothing, which no error state switches off.
bool numpy_is_quiet(const Graph& graph) {
  return std::ranges::none_of(graph.nodes, [&](const Node& node) {
    const bool empty =
        std::ranges::any_of(node.type.shape, [&](const SymInt& size) { return graph.env.hint(size) == 0; });
    return empty || node.attrs.ddof > 0;
  });
}

// Of the plain function behind the replay, with its arguments ready: as the user's own calls of NumPy.
double numpy_ms(PyView replay, PyView inputs) {
  PyRef self = PyRef::steal(PyObject_GetAttrString(replay, "__self__"));
  PyRef forward = self ? PyRef::steal(PyObject_CallMethod(self.get(), "forward", nullptr)) : PyRef();
  PyRef arguments =
      forward ? PyRef::steal(PyObject_CallMethod(self.get(), "arguments", "(O)", inputs)) : PyRef();
  if (!arguments) return -1;
  const auto call = [&] {
    return static_cast<bool>(PyRef::steal(PyObject_CallObject(forward.get(), arguments.get())));
  };
  return best_ms(call).value_or(-1);
}

}  // namespace

double GraphTimes::all_steps() const {
  double total = 0;
  for (double step : steps) total += std::max(step, 0.0);
  return total;
}

std::shared_ptr<const GraphTimes> measure_graph(PyView compiled_graph, PyView replay, const Graph& captured,
                                                std::span<const PyRef> inputs) {
  const int count = compiled_graph_output_count(compiled_graph);
  auto times = std::make_shared<GraphTimes>();
  if (count < 0 || captured.mutates_inputs() || !numpy_is_quiet(captured)) return times;
  std::vector<PyObject*> given, outputs(static_cast<size_t>(count));
  for (const PyRef& input : inputs) given.push_back(input.get());
  PyRef tuple = tuple_of(given);
  const QuietNumpy quiet;
  if (!tuple || !quiet.entered()) return discard_error(), times;

  const auto run = best_ms([&] { return run_once(compiled_graph, given, outputs); });
  const auto start = Clock::now();
  for (int i = 0; run && i < kRounds && (i == 0 || ms_since(start) < kMeasureBudgetMs); ++i) {
    record_next_run(compiled_graph, std::make_unique<StepClock>(times->steps));
    if (!run_once(compiled_graph, given, outputs)) break;
  }
  record_next_run(compiled_graph, nullptr);
  if (run && !PyErr_Occurred()) times->numpy = numpy_ms(replay, tuple.get());
  times->run = run.value_or(-1);
  discard_error();
  return times;
}

double copy_ms(int64_t bytes) {
  // Beyond the caches the time per byte is the same.
  constexpr int64_t kLargest = int64_t{1} << 25;
  static std::map<int64_t, double> known;
  if (bytes <= 0) return 0;
  const int64_t size = std::min(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(bytes))), kLargest);
  double& ms = known[size];
  if (ms <= 0) {
    const auto length = static_cast<size_t>(size);
    const std::vector<char> from(length, 1);
    std::vector<char> to(length, 2);
    ms = *best_ms([&] {
      std::memcpy(to.data(), from.data(), length);
      asm volatile("" : : "r"(to.data()) : "memory");  // somebody reads it
      return true;
    });
  }
  return ms * static_cast<double>(bytes) / static_cast<double>(size);
}

double page_fault_ms() {
  constexpr size_t kPage = 4096, kPages = 512;
  static const double each = [] {
    const auto touch_all = [] {
      void* memory =
          mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return false;
      madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
      for (size_t page = 0; page < kPages; ++page) static_cast<volatile char*>(memory)[page * kPage] = 1;
      munmap(memory, kPages * kPage);
      return true;
    };
    return best_ms(touch_all).value_or(0) / kPages;
  }();
  return each;
}

const BlasSpeed& blas_speed() {
  static const BlasSpeed speed = [] {
    BlasSpeed out;
    PyRef module = PyRef::steal(PyImport_ImportModule("suture._measure"));
    PyRef found = module ? PyRef::steal(PyObject_CallMethod(module.get(), "blas_speed", nullptr)) : PyRef();
    const char* name = nullptr;
    if (found && PyArg_ParseTuple(found.get(), "sdd", &name, &out.gflops, &out.elementwise_gflops))
      out.name = name;
    drop_hook_failure(module.get());
    return out;
  }();
  return speed;
}

}  // namespace suture
