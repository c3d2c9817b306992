// See output_memory.h.
#include "runtime/output_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <vector>

#include "cpython/discard_error.h"
#include "cpython/ndarray.h"
#include "cpython/numpy_api.h"

// Python 3.11's header declares PyTraceMalloc_Track without C linkage.
extern "C" int suture_tracemalloc_track(unsigned domain, uintptr_t address,
                                        size_t size) __asm__("PyTraceMalloc_Track");

namespace suture {

namespace {

constexpr int64_t kPage = 4096;
constexpr int kStepsPerOctave = 4;
constexpr int kSmallestLog = 16;
constexpr int kClassCount = kStepsPerOctave * 10 + 1;
constexpr int kUnpooled = -1;
// Data of consecutive blocks starts at different cache lines: equal page offsets make loads wait for
// unrelated stores.
constexpr int64_t kHeaderBytes = 64, kColourBytes = 128;
constexpr int kColours = 16;
constexpr unsigned kNumpyTraceDomain = 389047;  // NumPy's domain of tracemalloc

static_assert(kSmallestPooled == int64_t{1} << kSmallestLog);
static_assert(kHeaderBytes + kColours * kColourBytes <= kPage);

struct Block {           // header at the start of the first page
  int64_t mapped = 0;    // bytes, with the header's page
  int64_t capacity = 0;  // bytes that the data may take
  int size_class = kUnpooled;
};

int64_t class_bytes(int size_class) {
  const int64_t octave = kSmallestPooled << (size_class / kStepsPerOctave);
  return octave + octave / kStepsPerOctave * (size_class % kStepsPerOctave);
}

int class_for(int64_t bytes) {
  if (bytes < kSmallestPooled || bytes > kLargestPooled) return kUnpooled;
  const int log = std::bit_width(static_cast<uint64_t>(bytes)) - 1;
  int size_class = (log - kSmallestLog) * kStepsPerOctave;
  while (class_bytes(size_class) < bytes) ++size_class;
  return size_class;
}

Block* block_of(void* data) {
  return reinterpret_cast<Block*>(reinterpret_cast<uintptr_t>(data) & ~uintptr_t{kPage - 1});
}

class Pool {
 public:
  void* allocate(int64_t bytes) {
    const std::lock_guard lock(mutex_);
    const int size_class = class_for(bytes);
    Block* block = size_class == kUnpooled ? nullptr : take(size_class);
    if (block == nullptr)
      block =
          map(size_class, size_class == kUnpooled ? std::max<int64_t>(bytes, 1) : class_bytes(size_class));
    if (block == nullptr) return nullptr;
    colour_ = (colour_ + 1) % kColours;
    return reinterpret_cast<char*>(block) + kHeaderBytes + colour_ * kColourBytes;
  }

  void release(void* data) {
    const std::lock_guard lock(mutex_);
    Block* block = block_of(data);
    if (block->size_class == kUnpooled || kept_ + block->mapped > kKeptBytes) {
      munmap(block, static_cast<size_t>(block->mapped));
      return;
    }
    kept_ += block->mapped;
    free_[static_cast<size_t>(block->size_class)].push_back(block);
  }

  void release_all() {
    const std::lock_guard lock(mutex_);
    for (auto& list : free_) {
      for (Block* block : list) munmap(block, static_cast<size_t>(block->mapped));
      list.clear();
    }
    kept_ = 0;
  }

  int64_t kept() const { return kept_; }

 private:
  Block* take(int size_class) {
    auto& list = free_[static_cast<size_t>(size_class)];
    if (list.empty()) return nullptr;
    Block* block = list.back();  // the one whose lines are most likely still in the cache
    list.pop_back();
    kept_ -= block->mapped;
    return block;
  }

  static Block* map(int size_class, int64_t capacity) {
    const int64_t mapped = (capacity + kPage - 1) / kPage * kPage + kPage;
    void* memory = mmap(nullptr, static_cast<size_t>(mapped), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    return new (memory) Block{mapped, capacity, size_class};
  }

  std::mutex mutex_;
  std::array<std::vector<Block*>, kClassCount> free_;
  int64_t kept_ = 0;
  int colour_ = 0;
};

Pool& pool() {
  static Pool* const instance = new Pool;  // arrays may outlive every static object
  return *instance;
}

// The four functions of NEP 49. NumPy calls malloc and calloc only for the current handler, which ours never
// is.
void* handler_malloc(void*, size_t size) { return pool().allocate(static_cast<int64_t>(size)); }

void* handler_calloc(void*, size_t count, size_t size) {
  void* data = pool().allocate(static_cast<int64_t>(count * size));
  return data ? std::memset(data, 0, count * size) : nullptr;
}

void handler_free(void*, void* data, size_t) {
  if (data != nullptr) pool().release(data);
}

void* handler_realloc(void*, void* data, size_t size) {
  if (data == nullptr) return pool().allocate(static_cast<int64_t>(size));
  void* moved = pool().allocate(static_cast<int64_t>(size));
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, data, std::min(size, static_cast<size_t>(block_of(data)->capacity)));
  pool().release(data);
  return moved;
}

PyDataMem_Handler handler = {
    "suture_outputs", 1, {nullptr, handler_malloc, handler_calloc, handler_realloc, handler_free}};

PyObject* handler_capsule() {
  static PyObject* const capsule = PyCapsule_New(&handler, "mem_handler", nullptr);
  return capsule;
}

// Makes `array`, which was built over pooled `data`, its owner.
void give_ownership(PyView array, void* data, int64_t bytes) {
  PyArrayObject_fields* fields = array_fields(array);
  Py_XSETREF(fields->mem_handler, PyRef::borrow(handler_capsule()).release());
  fields->flags |= NPY_ARRAY_OWNDATA;
  suture_tracemalloc_track(kNumpyTraceDomain, reinterpret_cast<uintptr_t>(data), static_cast<size_t>(bytes));
}

}  // namespace

PyRef new_output(DType dtype, std::span<const int64_t> shape, std::span<const int64_t> strides,
                 int64_t bytes) {
  if (class_for(bytes) == kUnpooled || handler_capsule() == nullptr) {
    discard_error();
    return new_array(dtype, shape, strides);
  }
  void* data = pool().allocate(bytes);
  if (data == nullptr) return new_array(dtype, shape, strides);
  PyRef array = wrap_memory(data, dtype, shape, strides);
  if (array)
    give_ownership(array.get(), data, bytes);
  else
    pool().release(data);
  return array;
}

int64_t kept_output_bytes() noexcept { return pool().kept(); }
void release_kept_outputs() noexcept { pool().release_all(); }

}  // namespace suture
