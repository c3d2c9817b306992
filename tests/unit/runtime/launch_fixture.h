// Launch plans over kernels written by hand.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cpython/numpy_api.h"
#include "runtime/compiled_graph.h"
#include "support/embed.h"

namespace suture {

class HandLibrary : public KernelLibrary {
 public:
  suture_kernel_fn find(const std::string& symbol) const override {
    auto found = kernels.find(symbol);
    return found == kernels.end() ? nullptr : found->second;
  }
  std::map<std::string, suture_kernel_fn> kernels;
};

class LaunchFixture : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(import_numpy().ok()); }

  PyRef names = testing::run_python("");
  NativeGraph graph;
  std::shared_ptr<HandLibrary> library = std::make_shared<HandLibrary>();
  int replays = 0;

  static BufferSpec buffer(BufferSpec::Kind kind, std::vector<SymInt> shape, DType dtype = DType::kFloat64) {
    BufferSpec spec;
    spec.kind = kind;
    spec.dtype = dtype;
    SymInt stride = 1;
    spec.strides.resize(shape.size(), 0);
    for (size_t i = shape.size(); i-- > 0; stride = stride * shape[i]) spec.strides[i] = stride;
    spec.shape = std::move(shape);
    return spec;
  }
  int add(BufferSpec spec) {
    if (spec.kind == BufferSpec::Kind::kInput && spec.input < 0) spec.input = inputs_++;
    graph.plan.buffers.push_back(std::move(spec));
    return static_cast<int>(graph.plan.buffers.size()) - 1;
  }
  int input(std::vector<SymInt> shape, DType dtype = DType::kFloat64) {
    return add(buffer(BufferSpec::Kind::kInput, std::move(shape), dtype));
  }
  int output(std::vector<SymInt> shape, DType dtype = DType::kFloat64) {
    return add(buffer(BufferSpec::Kind::kOutput, std::move(shape), dtype));
  }
  int temporary(std::vector<SymInt> shape, DType dtype = DType::kFloat64) {
    return add(buffer(BufferSpec::Kind::kTemp, std::move(shape), dtype));
  }
  int scalar(BufferSpec::Kind kind, ValueClass value_class, DType dtype) {
    BufferSpec spec = buffer(kind, {}, dtype);
    spec.value_class = value_class;
    return add(std::move(spec));
  }
  int view(int base, std::vector<SymInt> shape, std::vector<SymInt> strides, SymInt offset) {
    BufferSpec spec = buffer(BufferSpec::Kind::kView, std::move(shape),
                             graph.plan.buffers[static_cast<size_t>(base)].dtype);
    spec.base = base;
    spec.strides = std::move(strides);
    spec.offset = offset;
    return add(std::move(spec));
  }
  void kernel(const char* name, suture_kernel_fn function, std::vector<int> buffers,
              std::vector<SymInt> sizes = {}) {
    library->kernels[name] = function;
    LaunchStep step;
    step.kernel = name;
    step.buffers = std::move(buffers);
    step.sizes = std::move(sizes);
    graph.plan.steps.push_back(std::move(step));
  }
  void replay_with(const std::string& lambda) {
    graph.replay = testing::evaluate_python(lambda, names.get());
  }

  PyRef build() {
    graph.library = library;
    graph.on_replay = [this](uint32_t, int) { ++replays; };
    Result<PyRef> made = make_compiled_graph(std::move(graph), "f_graph_0");
    graph = {};
    inputs_ = 0;
    if (!made.ok()) {
      ADD_FAILURE() << made.error().message << " " << testing::take_exception();
      return {};
    }
    PyDict_SetItemString(names.get(), "g", made->get());
    return std::move(made).value();
  }
  std::string value(const std::string& expression) {
    return testing::repr(testing::evaluate_python(expression, names.get()).get());
  }
  // What evaluating raises.
  std::string error(const std::string& expression) {
    PyRef code = PyRef::steal(Py_CompileString(expression.c_str(), "<test>", Py_eval_input));
    PyRef result = PyRef::steal(PyEval_EvalCode(code.get(), names.get(), names.get()));
    EXPECT_FALSE(result) << testing::repr(result.get());
    return testing::take_exception();
  }

 private:
  int inputs_ = 0;
};

// Kernels. sizes[0] is the number of elements.
inline uint32_t kernel_add(void* const* buffers, const int64_t* sizes) {
  const auto* a = static_cast<const double*>(buffers[0]);
  const auto* b = static_cast<const double*>(buffers[1]);
  auto* out = static_cast<double*>(buffers[2]);
  for (int64_t i = 0; i < sizes[0]; ++i) out[i] = a[i] + b[i];
  return 0;
}
inline uint32_t kernel_scale(void* const* buffers, const int64_t* sizes) {  // out = a * scalar
  const auto* a = static_cast<const double*>(buffers[0]);
  const double factor = *static_cast<const double*>(buffers[1]);
  auto* out = static_cast<double*>(buffers[2]);
  for (int64_t i = 0; i < sizes[0]; ++i) out[i] = a[i] * factor;
  return 0;
}
inline uint32_t kernel_divide(void* const* buffers, const int64_t* sizes) {
  const auto* a = static_cast<const double*>(buffers[0]);
  const auto* b = static_cast<const double*>(buffers[1]);
  auto* out = static_cast<double*>(buffers[2]);
  for (int64_t i = 0; i < sizes[0]; ++i) out[i] = a[i] / b[i];
  return 0;
}
inline uint32_t kernel_sum(void* const* buffers, const int64_t* sizes) {
  const auto* a = static_cast<const double*>(buffers[0]);
  double total = 0;
  for (int64_t i = 0; i < sizes[0]; ++i) total += a[i];
  *static_cast<double*>(buffers[1]) = total;
  return 0;
}
inline uint32_t kernel_increment_and_complain(void* const* buffers, const int64_t* sizes) {
  auto* a = static_cast<double*>(buffers[0]);
  for (int64_t i = 0; i < sizes[0]; ++i) a[i] += 1;
  return a[0] > 100 ? SUTURE_KERNEL_BAD_CAST : 0;
}

}  // namespace suture
