// Sizes of a plan, and first-fit placement of temporaries.
#include "runtime/launch_layout.h"

#include <algorithm>

namespace suture {

namespace {

constexpr int64_t kArenaAlignment = 64;

int64_t aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

struct Life {
  int first = INT32_MAX, last = -1;
};

// Steps that touch each root buffer. Outputs returned to the user live to the end.
std::vector<Life> lives(const LaunchPlan& plan) {
  std::vector<Life> result(plan.buffers.size());
  const auto touch = [&](int buffer, int step) {
    if (buffer < 0) return;
    Life& life = result[static_cast<size_t>(root_of(plan, buffer))];
    life.first = std::min(life.first, step);
    life.last = std::max(life.last, step);
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    for (int buffer : plan.steps[s].buffers) touch(buffer, static_cast<int>(s));
    touch(plan.steps[s].result, static_cast<int>(s));
  }
  for (int buffer : plan.outputs) touch(buffer, static_cast<int>(plan.steps.size()));
  return result;
}

struct Placed {
  int64_t begin, end;
  Life life;
};

bool overlaps(const Life& a, const Life& b) { return a.first <= b.last && b.first <= a.last; }

// Lowest offset at which `bytes` fit beside everything that lives at the same time.
int64_t place(std::vector<Placed>& placed, int64_t bytes, const Life& life) {
  std::vector<Placed> rivals;
  for (const Placed& other : placed)
    if (overlaps(other.life, life)) rivals.push_back(other);
  std::ranges::sort(rivals, {}, &Placed::begin);
  int64_t at = 0;
  for (const Placed& rival : rivals) {
    if (at + bytes <= rival.begin) break;
    at = std::max(at, rival.end);
  }
  placed.push_back({at, at + bytes, life});
  return at;
}

void place_temporaries(const LaunchPlan& plan, LaunchLayout& layout) {
  const std::vector<Life> life = lives(plan);
  std::vector<Placed> placed;
  layout.arena_bytes = 0;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    if (plan.buffers[b].kind != BufferSpec::Kind::kTemp || life[b].last < 0) continue;
    const int64_t bytes = aligned(std::max<int64_t>(layout.buffers[b].bytes, 1));
    layout.buffers[b].arena_offset = place(placed, bytes, life[b]);
    layout.arena_bytes = std::max(layout.arena_bytes, layout.buffers[b].arena_offset + bytes);
  }
}

// Sizes and offsets of one plan. Once one of them leaves int64, `valid` is false and the numbers mean nothing.
class Evaluation {
 public:
  explicit Evaluation(std::span<const int64_t> symbols) : symbols_(symbols) {}
  int64_t value(const SymInt& e) {
    const std::optional<int64_t> number = e.evaluate(symbols_);
    valid &= number.has_value();
    return number.value_or(0);
  }
  int64_t product(int64_t a, int64_t b) {
    int64_t out = 0;
    valid &= !__builtin_mul_overflow(a, b, &out);
    return out;
  }
  // One past the highest element, counted from the first; strides of memory that we own are not negative.
  int64_t extent(std::span<const int64_t> shape, std::span<const int64_t> strides) {
    int64_t last = 1;
    for (size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 0) return 0;
      valid &= !__builtin_add_overflow(last, product(shape[i] - 1, strides[i]), &last);
    }
    return last;
  }

  bool valid = true;

 private:
  std::span<const int64_t> symbols_;
};

bool owns_memory(const BufferSpec& spec) {
  return spec.kind == BufferSpec::Kind::kTemp || spec.kind == BufferSpec::Kind::kOutput;
}

bool evaluate_buffer(const BufferSpec& spec, Evaluation& evaluation, LaunchLayout& layout,
                     BufferLayout& buffer) {
  buffer.first = static_cast<int>(layout.shapes.size());
  buffer.ndim = static_cast<int>(spec.shape.size());
  buffer.elements = 1;
  for (size_t i = 0; i < spec.shape.size(); ++i) {
    const int64_t size = evaluation.value(spec.shape[i]);
    if (size < 0) return false;
    layout.shapes.push_back(size);
    layout.strides.push_back(i < spec.strides.size() ? evaluation.value(spec.strides[i]) : 0);
    buffer.elements = evaluation.product(buffer.elements, size);
  }
  const std::span<const int64_t> shape(layout.shapes.data() + buffer.first, spec.shape.size());
  const std::span<const int64_t> strides(layout.strides.data() + buffer.first, spec.shape.size());
  buffer.bytes = evaluation.product(evaluation.extent(shape, strides), itemsize(spec.dtype));
  buffer.byte_offset = evaluation.product(evaluation.value(spec.offset), itemsize(spec.dtype));
  const bool negative = std::ranges::any_of(strides, [](int64_t stride) { return stride < 0; });
  if (owns_memory(spec) && negative && buffer.elements > 0) return false;
  // NumPy allocates as many elements as the shape has; a kernel must not be given less room than it writes.
  return spec.kind != BufferSpec::Kind::kOutput || buffer.bytes <= buffer.elements * itemsize(spec.dtype);
}

bool all_constant(std::span<const SymInt> values) {
  return std::ranges::all_of(values, [](const SymInt& value) { return value.is_constant(); });
}

}  // namespace

int root_of(const LaunchPlan& plan, int buffer) {
  while (plan.buffers[static_cast<size_t>(buffer)].kind == BufferSpec::Kind::kView)
    buffer = plan.buffers[static_cast<size_t>(buffer)].base;
  return buffer;
}

bool is_static(const LaunchPlan& plan) {
  const auto fixed = [](const BufferSpec& b) {
    return all_constant(b.shape) && all_constant(b.strides) && b.offset.is_constant();
  };
  return std::ranges::all_of(plan.buffers, fixed) && std::ranges::all_of(plan.overwritten, fixed) &&
         std::ranges::all_of(plan.steps, [](const LaunchStep& step) { return all_constant(step.sizes); });
}

void evaluate_layout(const LaunchPlan& plan, std::span<const int64_t> symbols, LaunchLayout& layout) {
  layout.buffers.resize(plan.buffers.size());
  layout.shapes.clear();
  layout.strides.clear();
  layout.sizes.clear();
  layout.first_size.clear();
  layout.valid = true;
  Evaluation evaluation(symbols);
  for (size_t b = 0; b < plan.buffers.size(); ++b)
    if (!evaluate_buffer(plan.buffers[b], evaluation, layout, layout.buffers[b])) layout.valid = false;
  layout.overwritten.resize(plan.overwritten.size());
  for (size_t i = 0; i < plan.overwritten.size(); ++i)
    if (!evaluate_buffer(plan.overwritten[i], evaluation, layout, layout.overwritten[i]))
      layout.valid = false;
  for (const LaunchStep& step : plan.steps) {
    layout.first_size.push_back(static_cast<int>(layout.sizes.size()));
    for (const SymInt& size : step.sizes) layout.sizes.push_back(evaluation.value(size));
  }
  layout.valid &= evaluation.valid;
  if (layout.valid) place_temporaries(plan, layout);
}

}  // namespace suture
