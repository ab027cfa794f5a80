// Masked self-attention of one new token of each row to those before it, whose keys and values are
// in caches, and to itself; its own key and value are written there.
#include <algorithm>
#include <string>

#include "attention.h"
#include "attention_operators.h"
#include "versions.h"

namespace keras_transformer {
namespace {

struct Step {
  float* keys;  // (rows, heads, capacity, width)
  float* values;
  const int32_t* beams;  // (rows, capacity): which beam's row holds each token; or null
  int64_t rows, beam_size, heads, capacity, width, step;

  int64_t model_width() const { return heads * width; }
  double cost() const { return heads * (step + 1) * (4 + width * 0.1); }
};

// packed (count, 3 · heads · width): query, key and value of the new tokens of some rows → output
// (count, heads · width).
KT_INLINE void attend_rows(const Step& s, int64_t first, int64_t count, const float* packed,
                           float* output) {
  const int64_t model = s.heads * s.width, of_head = s.capacity * s.width;
  const int64_t of_row = s.heads * of_head;
  for (int64_t row = first; row < first + count; ++row, packed += 3 * model, output += model) {
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
          [](int64_t) KT_INLINE_LAMBDA { return 0.0f; }, s.step + 1, s.width, output + there);
    }
  }
}

// Returns an output that holds the input's cache: the same memory if the caller has bound it so.
float* cache_of(Context& context, size_t input, size_t output, const Shape& shape) {
  const float* old = context.input<float>(input);
  float* cache = context.output<float>(output, {shape[0], shape[1], shape[2], shape[3]});
  if (cache != old) std::copy_n(old, shape[0] * shape[1] * shape[2] * shape[3], cache);
  return cache;
}

// Whether all are from 0 to `limit` - 1.
KT_INLINE bool all_below(const int32_t* values, int64_t count, uint32_t limit) {
  uint32_t top = 0;
  for (int64_t i = 0; i < count; ++i) top = std::max(top, static_cast<uint32_t>(values[i]));
  return top < limit;
}

// Throws if a row of an earlier token does not belong to its sentence.
void check_beams(const Step& s) {
  for (int64_t row = 0; row < s.rows; ++row) {
    const int32_t* beams = s.beams + row * s.capacity;
    if (fastest<all_below>(beams, s.step, static_cast<uint32_t>(s.beam_size))) continue;
    const auto is_outside = [&](int32_t beam) { return beam < 0 || beam >= s.beam_size; };
    const int32_t* wrong = std::find_if(beams, beams + s.step, is_outside);
    throw std::invalid_argument("beams must be from 0 to " + std::to_string(s.beam_size - 1) +
                                ", got " + std::to_string(*wrong) + " for token " +
                                std::to_string(wrong - beams) + " of row " + std::to_string(row));
  }
}

// Reads the table of beams, if there is one.
void read_beams(Context& context, size_t place, Step& step) {
  step.beam_size = 1;
  if (!context.has_input(place)) return;
  const int64_t size = context.shape(place, "beams", 3)[1];
  if (size < 1 || step.rows % size != 0) {
    throw std::invalid_argument("cached keys must have a multiple of " + std::to_string(size) +
                                " rows, the beams of a sentence, got " +
                                std::to_string(step.rows));
  }
  step.beams = context.input<int32_t>(place, "beams", {step.rows / size, size, step.capacity});
  step.beam_size = size;
  check_beams(step);
}

// Reads caches, step and beams, which are consecutive inputs, and makes the caches' outputs.
Step read_step(Context& context, size_t place, size_t output) {
  const Shape shape = context.shape(place, "cached keys", 4);
  Step step{};
  step.rows = shape[0], step.heads = shape[1], step.capacity = shape[2], step.width = shape[3];
  context.input<float>(place + 1, "cached values", {shape[0], shape[1], shape[2], shape[3]});
  step.step = *context.input<int32_t>(place + 2, "step", {1});
  if (step.step < 0 || step.step >= step.capacity) {
    throw std::invalid_argument("step " + std::to_string(step.step) + " is outside a cache of " +
                                std::to_string(step.capacity) + " tokens");
  }
  read_beams(context, place + 3, step);
  step.keys = cache_of(context, place, output, shape);
  step.values = cache_of(context, place + 1, output + 1, shape);
  return step;
}

}  // namespace

void SelfAttention::compute(Context& context) const {
  const Step step = read_step(context, 1, 1);
  const int64_t model = step.model_width();
  const float* packed = context.input<float>(0, "packed", {step.rows, 3 * model});
  float* output = context.output<float>(0, {step.rows, model});
  context.parallel_for(step.rows, step.cost(), [&](int64_t first, int64_t last) {
    fastest<attend_rows>(step, first, last - first, packed + first * 3 * model,
                         output + first * model);
  });
}

void SelfAttentionSubLayer::compute(Context& context) const {
  const Step step = read_step(context, SubLayer::kOwnInputs, 2);
  const int64_t model = step.model_width();
  const auto attend = [&](int64_t row, int64_t count, const float* packed, float* output) {
    fastest<attend_rows>(step, row, count, packed, output);
    return output;
  };
  const auto rows = layer_.rows(context, step.rows, 3 * model, kLinear, model);
  layer_.run(context, rows, step.cost(), attend);
}

}  // namespace keras_transformer
