// Masked self-attention of one new token of each row to its predecessors, whose keys and values are
// in caches; its own are written there.
#include "attention.h"
#include "operators.h"

namespace keras_transformer {
namespace {

struct Step {
  const float* packed;  // (rows, 3 · heads · width): query, key and value of the new tokens
  float* keys;          // (rows, heads, capacity, width)
  float* values;
  const int32_t* beams;  // (rows, capacity): which beam's row holds each token; or null
  int64_t beam_size, heads, capacity, width, step;
  float* output;  // (rows, heads · width)
};

KT_CLONES void attend_rows(const Step& s, int64_t first, int64_t last) {
  const int64_t model = s.heads * s.width, of_head = s.capacity * s.width;
  const int64_t of_row = s.heads * of_head;
  for (int64_t row = first; row < last; ++row) {
    const float* packed = s.packed + row * 3 * model;
    const int32_t* beams = s.beams == nullptr ? nullptr : s.beams + row * s.capacity;
    const int64_t sentence = row - row % s.beam_size;
    for (int64_t head = 0; head < s.heads; ++head) {
      const int64_t own = row * of_row + head * of_head, there = head * s.width;
      std::memcpy(s.keys + own + s.step * s.width, packed + model + there, s.width * sizeof(float));
      std::memcpy(s.values + own + s.step * s.width, packed + 2 * model + there,
                  s.width * sizeof(float));
      const auto place = [&](int64_t t) KT_INLINE_LAMBDA {
        if (beams == nullptr || t == s.step) return own + t * s.width;
        return (sentence + beams[t]) * of_row + head * of_head + t * s.width;
      };
      attend(
          packed + there, [&](int64_t t) KT_INLINE_LAMBDA { return s.keys + place(t); },
          [&](int64_t t) KT_INLINE_LAMBDA { return s.values + place(t); },
          [](int64_t) KT_INLINE_LAMBDA { return 0.0f; }, s.step + 1, s.width,
          s.output + row * model + there);
    }
  }
}

// Returns an output in which the input's cache is: the same memory where the caller bound it so.
float* cache_of(Context& context, size_t input, size_t output, const Shape& shape) {
  const float* old = context.input<float>(input);
  float* cache = context.output<float>(output, {shape[0], shape[1], shape[2], shape[3]});
  if (cache != old) {
    std::memcpy(cache, old, shape[0] * shape[1] * shape[2] * shape[3] * sizeof(float));
  }
  return cache;
}

}  // namespace

void SelfAttention::compute(Context& context) const {
  const Shape shape = context.shape(1);
  const auto [rows, heads, capacity, width] = shape;
  Step step{};
  step.packed = context.input<float>(0, "packed", {rows, 3 * heads * width});
  context.input<float>(2, "cached values", {rows, heads, capacity, width});
  step.keys = cache_of(context, 1, 1, shape);
  step.values = cache_of(context, 2, 2, shape);
  step.step = *context.input<int32_t>(3);
  step.beams = context.input<int32_t>(4);
  step.beam_size = 1;
  if (step.beams != nullptr) {
    step.beam_size = std::max<int64_t>(1, context.shape(4)[1]);
    context.input<int32_t>(4, "beams", {rows / step.beam_size, step.beam_size, capacity});
  }
  step.heads = heads, step.capacity = capacity, step.width = width;
  step.output = context.output<float>(0, {rows, heads * width});
  if (step.step < 0 || step.step >= capacity) {
    throw std::out_of_range("step " + std::to_string(step.step) + " is outside a cache of " +
                            std::to_string(capacity) + " tokens");
  }
  const double each = heads * (step.step + 1) * (4 + width * 0.1);
  context.parallel_for(rows, each, [&](int64_t first, int64_t last) {
    attend_rows(step, first, last);
  });
}

}  // namespace keras_transformer
