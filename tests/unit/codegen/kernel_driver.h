// Compiles the kernels of a graph with the subprocess toolchain and runs its launch plan over plain memory,
// beside the reference interpreter. Values must agree bit for bit (NaN with NaN).
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "codegen/emit.h"
#include "graph/interpret.h"
#include "passes/pass_runner.h"
#include "support/graph_script.h"
#include "toolchain/toolchain.h"

namespace suture {

struct TestArray {
  std::vector<std::byte> memory;
  BufferView view;
};

inline int64_t span_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) last += (shape[axis] - 1) * std::abs(strides[axis]);
  return last + 1;
}

inline std::vector<int64_t> evaluated(const std::vector<SymInt>& values,
                                      const std::vector<int64_t>& symbols) {
  std::vector<int64_t> numbers;
  for (const SymInt& value : values) numbers.push_back(value.evaluate(symbols).value());
  return numbers;
}

inline TestArray make_array(DType dtype, const std::vector<int64_t>& shape,
                            const std::vector<int64_t>& strides) {
  TestArray array;
  array.memory.resize(static_cast<size_t>(std::max<int64_t>(span_of(shape, strides), 1) * itemsize(dtype)));
  int64_t first = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis)
    first += strides[axis] < 0 ? (1 - shape[axis]) * strides[axis] : 0;
  array.view = {array.memory.data() + first * itemsize(dtype), dtype, shape, strides};
  for (int64_t& stride : array.view.strides) stride *= itemsize(dtype);
  return array;
}

inline void fill(TestArray& array, std::mt19937& random) {
  std::normal_distribution<double> normal(0, 10);
  const size_t count = array.memory.size() / static_cast<size_t>(itemsize(array.view.dtype));
  for (size_t i = 0; i < count; ++i) {
    const double value = normal(random);
    std::byte* at = array.memory.data() + i * static_cast<size_t>(itemsize(array.view.dtype));
    const auto put = [&](auto converted) { std::memcpy(at, &converted, sizeof converted); };
    switch (array.view.dtype) {
      case DType::kFloat64: put(value); break;
      case DType::kFloat32: put(static_cast<float>(value)); break;
      case DType::kInt64: put(static_cast<int64_t>(value)); break;
      case DType::kInt32: put(static_cast<int32_t>(value)); break;
      case DType::kBool: put(value > 0); break;
      default: put(static_cast<int8_t>(value)); break;
    }
  }
}

// Elements in C order, as bytes; every NaN becomes the same one.
inline std::vector<std::byte> elements(const BufferView& view) {
  std::vector<std::byte> bytes;
  std::vector<int64_t> index(view.shape.size(), 0);
  int64_t total = 1;
  for (int64_t extent : view.shape) total *= extent;
  for (int64_t i = 0; i < total; ++i) {
    int64_t offset = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * view.strides[axis];
    std::byte item[8];
    const auto size = static_cast<size_t>(itemsize(view.dtype));
    std::memcpy(item, static_cast<const std::byte*>(view.data) + offset, size);
    if (double d = 0; view.dtype == DType::kFloat64 && (std::memcpy(&d, item, 8), std::isnan(d)))
      std::memset(item, 0xff, 8);
    if (float f = 0; view.dtype == DType::kFloat32 && (std::memcpy(&f, item, 4), std::isnan(f)))
      std::memset(item, 0xff, 4);
    bytes.insert(bytes.end(), item, item + size);
    for (size_t axis = index.size(); axis-- > 0;) {
      if (++index[axis] < view.shape[axis]) break;
      index[axis] = 0;
    }
  }
  return bytes;
}

class KernelDriver {
 public:
  explicit KernelDriver(const std::string& script, bool fuse = true) : graph_(GraphScript::build(script)) {
    auto passes = run_pipeline(graph_, {});
    if (!passes.ok()) throw std::runtime_error(passes.error().message);
    auto program = lower(graph_);
    if (!program.ok()) throw std::runtime_error(program.error().message);
    auto schedule = plan_schedule(*program, graph_, {.fuse = fuse});
    if (!schedule.ok()) throw std::runtime_error(schedule.error().message);
    auto code = emit(*schedule, graph_, {});
    if (!code.ok()) throw std::runtime_error(code.error().message);
    code_ = std::move(code).value();
  }

  const GeneratedCode& code() const { return code_; }

  // Results over random inputs; they stay valid while the driver lives.
  std::vector<BufferView> run(unsigned seed) {
    kept_inputs_ = inputs(seed, graph_.env.hints());
    return run(kept_inputs_, graph_.env.hints());
  }

  void expect_same_as_interpreter(unsigned seed, std::vector<int64_t> symbols = {}) {
    if (symbols.empty()) symbols = graph_.env.hints();
    std::vector<TestArray> ours = inputs(seed, symbols), theirs = inputs(seed, symbols);
    std::vector<BufferView> views;
    for (TestArray& array : theirs) views.push_back(array.view);
    auto expected = interpret(graph_, views, symbols);
    ASSERT_TRUE(expected.ok()) << expected.error().message;
    const std::vector<BufferView> results = run(ours, symbols);
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].shape, (*expected)[i].view.shape);
      EXPECT_TRUE(elements(results[i]) == elements((*expected)[i].view)) << "output " << i << "\n"
                                                                         << code_.cpp;
    }
    for (size_t i = 0; i < ours.size(); ++i)
      EXPECT_TRUE(ours[i].memory == theirs[i].memory) << "input " << i << " was changed\n" << code_.cpp;
  }

 private:
  std::vector<TestArray> inputs(unsigned seed, const std::vector<int64_t>& symbols) {
    std::mt19937 random(seed);
    std::vector<TestArray> arrays;
    for (NodeId id : graph_.placeholders) {
      const TensorType& type = graph_.node(id).type;
      arrays.push_back(
          make_array(type.dtype, evaluated(type.shape, symbols), evaluated(type.strides, symbols)));
      fill(arrays.back(), random);
    }
    return arrays;
  }

  std::vector<BufferView> run(std::vector<TestArray>& inputs, const std::vector<int64_t>& symbols) {
    const std::unique_ptr<Toolchain> toolchain = make_toolchain({.kind = "subprocess"});
    KernelSource source{.graph_name = "test_graph", .cpp = code_.cpp};
    for (const KernelInfo& kernel : code_.kernels) source.symbols.push_back(kernel.name);
    auto library = toolchain->compile(source);
    if (!library.ok()) throw std::runtime_error(library.error().message + "\n" + code_.cpp);
    library_ = std::move(library).value();
    std::vector<BufferView> buffers;
    for (const BufferSpec& spec : code_.plan.buffers) {
      const auto shape = evaluated(spec.shape, symbols), strides = evaluated(spec.strides, symbols);
      if (spec.kind == BufferSpec::Kind::kInput) {
        buffers.push_back(inputs[static_cast<size_t>(spec.input)].view);
      } else if (spec.kind == BufferSpec::Kind::kView) {
        BufferView view = buffers[static_cast<size_t>(spec.base)];
        view.data =
            static_cast<std::byte*>(view.data) + spec.offset.evaluate(symbols).value() * itemsize(spec.dtype);
        view.shape = shape;
        view.strides = strides;
        for (int64_t& stride : view.strides) stride *= itemsize(spec.dtype);
        buffers.push_back(view);
      } else {
        fresh_.push_back(make_array(spec.dtype, shape, strides));
        buffers.push_back(fresh_.back().view);
      }
    }
    for (const LaunchStep& step : code_.plan.steps) {
      if (step.kind != LaunchStep::Kind::kKernel)
        throw std::runtime_error("a NumPy call cannot run here: " + step.why);
      std::vector<void*> pointers;
      for (int buffer : step.buffers) pointers.push_back(buffers[static_cast<size_t>(buffer)].data);
      const std::vector<int64_t> sizes = evaluated(step.sizes, symbols);
      library_->find(step.kernel)(pointers.data(), sizes.data());
    }
    std::vector<BufferView> results;
    for (int output : code_.plan.outputs) results.push_back(buffers[static_cast<size_t>(output)]);
    return results;
  }

  Graph graph_;
  GeneratedCode code_;
  std::unique_ptr<KernelLibrary> library_;
  std::vector<TestArray> fresh_, kept_inputs_;
};

}  // namespace suture
