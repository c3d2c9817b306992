#include "runtime/saved_inputs.h"

#include <algorithm>
#include <cstring>

#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"

namespace suture {

namespace {

enum class Direction : uint8_t { kPack, kUnpack };

template <Direction kDirection>
char* copy_run(char* packed, char* memory, int64_t bytes) {
  if constexpr (kDirection == Direction::kPack) {
    std::memcpy(packed, memory, static_cast<size_t>(bytes));
  } else {
    std::memcpy(memory, packed, static_cast<size_t>(bytes));
  }
  return packed + bytes;
}

// Returns the end of what it packed or unpacked.
template <Direction kDirection>
char* copy_part(char* packed, char* memory, std::span<const int64_t> shape, std::span<const int64_t> strides,
                int64_t itemsize) {
  if (shape.empty()) return copy_run<kDirection>(packed, memory, itemsize);
  if (shape.size() == 1 && strides[0] == 1) return copy_run<kDirection>(packed, memory, shape[0] * itemsize);
  const int64_t step = strides[0] * itemsize;
  for (int64_t i = 0; i < shape[0]; ++i)
    packed = copy_part<kDirection>(packed, memory + i * step, shape.subspan(1), strides.subspan(1), itemsize);
  return packed;
}

bool is_dense(PyView array) {
  const auto* fields = reinterpret_cast<const PyArrayObject*>(static_cast<PyObject*>(array));
  return (PyArray_FLAGS(fields) & (NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS)) != 0;
}

int64_t bytes_of(PyObject* array) { return PyArray_NBYTES(reinterpret_cast<PyArrayObject*>(array)); }

int64_t bytes_of(const BufferSpec& spec, const BufferLayout& layout) {
  return layout.elements * itemsize(spec.dtype);
}

int64_t bytes_of_parts(const LaunchPlan& plan, const LaunchLayout& layout) {
  int64_t bytes = 0;
  for (size_t i = 0; i < plan.overwritten.size(); ++i)
    bytes += bytes_of(plan.overwritten[i], layout.overwritten[i]);
  return bytes;
}

int64_t bytes_of_arrays(const LaunchPlan& plan, const LaunchLayout& layout) {
  int64_t bytes = 0;
  for (int buffer : plan.written)
    bytes += bytes_of(plan.buffers[static_cast<size_t>(buffer)], layout.buffers[static_cast<size_t>(buffer)]);
  return bytes;
}

bool saves_parts(const LaunchPlan& plan, const LaunchLayout& layout, int64_t bytes_of_whole_arrays) {
  return !plan.overwritten.empty() && bytes_of_parts(plan, layout) <= bytes_of_whole_arrays;
}

}  // namespace

std::vector<SavedInput> saved_inputs(const LaunchPlan& plan, std::span<const int64_t> symbols) {
  std::vector<SavedInput> saved;
  if (!plan.can_replay || plan.written.empty()) return saved;
  LaunchLayout layout;
  evaluate_layout(plan, symbols, layout);
  if (!layout.valid) return saved;
  const bool in_parts = saves_parts(plan, layout, bytes_of_arrays(plan, layout));
  for (int buffer : plan.written) {
    const auto b = static_cast<size_t>(buffer);
    saved.push_back({plan.buffers[b].input, in_parts ? 0 : bytes_of(plan.buffers[b], layout.buffers[b])});
  }
  for (size_t i = 0; in_parts && i < plan.overwritten.size(); ++i) {
    const int root = plan.buffers[static_cast<size_t>(root_of(plan, plan.overwritten[i].base))].input;
    std::ranges::find(saved, root, &SavedInput::input)->bytes +=
        bytes_of(plan.overwritten[i], layout.overwritten[i]);
  }
  return saved;
}

bool SavedInputs::save(const LaunchPlan& plan, const LaunchLayout& layout, std::span<void* const> pointers,
                       std::span<PyObject* const> inputs, std::span<const int> arrays) {
  int64_t whole = 0;
  for (int input : arrays) whole += bytes_of(inputs[static_cast<size_t>(input)]);
  if (!saves_parts(plan, layout, whole)) return save_arrays(inputs, arrays);
  if (!reserve(bytes_of_parts(plan, layout))) return false;
  save_parts(plan, layout, pointers);
  return true;
}

char* SavedInputs::reserve(int64_t bytes) {
  char* memory = static_cast<char*>(packed_.reserve(std::max<int64_t>(bytes, 1)));
  if (memory == nullptr) PyErr_NoMemory();
  return memory;
}

void SavedInputs::save_parts(const LaunchPlan& plan, const LaunchLayout& layout,
                             std::span<void* const> pointers) {
  char* packed = static_cast<char*>(packed_.data());
  for (size_t i = 0; i < plan.overwritten.size(); ++i) {
    const BufferSpec& spec = plan.overwritten[i];
    const BufferLayout& at = layout.overwritten[i];
    if (at.elements == 0) continue;
    char* base = static_cast<char*>(pointers[static_cast<size_t>(spec.base)]);
    parts_.push_back({base + at.byte_offset, layout.shape(at), layout.stride(at), itemsize(spec.dtype)});
    const Part& part = parts_.back();
    packed = copy_part<Direction::kPack>(packed, part.memory, part.shape, part.strides, part.itemsize);
  }
}

bool SavedInputs::save_arrays(std::span<PyObject* const> inputs, std::span<const int> arrays) {
  int64_t dense = 0;
  for (int input : arrays) {
    Whole whole{inputs[static_cast<size_t>(input)], -1, {}};
    if (is_dense(whole.array)) {
      whole.bytes = bytes_of(whole.array);
      dense += whole.bytes;
    } else if (!(whole.copy = copy_array(whole.array))) {
      return wholes_.clear(), false;
    }
    wholes_.push_back(std::move(whole));
  }
  char* packed = reserve(dense);
  if (packed == nullptr) return wholes_.clear(), false;
  for (const Whole& whole : wholes_)
    if (whole.bytes > 0)
      packed = copy_run<Direction::kPack>(packed, static_cast<char*>(array_data(whole.array)), whole.bytes);
  return true;
}

bool SavedInputs::restore() const {
  char* packed = const_cast<char*>(static_cast<const char*>(packed_.data()));
  for (const Part& part : parts_)
    packed = copy_part<Direction::kUnpack>(packed, part.memory, part.shape, part.strides, part.itemsize);
  for (const Whole& whole : wholes_) {
    if (whole.copy) {
      if (!copy_into(whole.array, whole.copy.get())) return false;
    } else if (whole.bytes > 0) {
      packed = copy_run<Direction::kUnpack>(packed, static_cast<char*>(array_data(whole.array)), whole.bytes);
    }
  }
  return true;
}

void SavedInputs::clear() {
  parts_.clear();
  wholes_.clear();
  packed_.trim();
}

}  // namespace suture
