// Masked self-attention of one new token of each row to those before it, whose keys and values are
// in caches, and to itself; its own key and value are written there.
#include <algorithm>
#include <string>

#include "attention.h"
#include "attention_operators.h"
#include "beam_table.h"
#include "versions.h"

namespace keras_transformer {
namespace {

struct Step {
  float* keys;  // (rows, shared, capacity, width)
  float* values;
  BeamTable table;
  int64_t rows, heads, shared, capacity, width, step;
  int64_t first;  // the first place that the window lets the new tokens see
  Scores scores;

  int64_t model_width() const { return heads * width; }
  int64_t packed_width() const { return (heads + 2 * shared) * width; }
  double cost() const { return heads * (step + 1 - first) * (4 + width * 0.1); }
};

// packed (count, (heads + 2 · shared) · width): queries, keys and values of the new tokens of some rows
// → output (count, heads · width).
KT_INLINE void attend_rows(const Step& s, int64_t first, int64_t count, const float* packed,
                           float* output) {
  const int64_t model = s.model_width(), of_head = s.capacity * s.width;
  const int64_t of_row = s.shared * of_head, group = s.heads / s.shared;
  const int64_t seen = s.step + 1 - s.first;
  const size_t size = s.width * sizeof(float);
  for (int64_t row = first; row < first + count;
       ++row, packed += s.packed_width(), output += model) {
    const int32_t* beams = s.table.of_row(row);
    const int64_t sentence = s.table.first_of(row);
    for (int64_t head = 0; head < s.heads; ++head) {
      const int64_t there = head * s.width, key_head = head / group;
      const int64_t own = row * of_row + key_head * of_head;
      if (head % group == 0) {
        const float* key = packed + model + key_head * s.width;
        std::memcpy(s.keys + own + s.step * s.width, key, size);
        std::memcpy(s.values + own + s.step * s.width, key + s.shared * s.width, size);
      }
      const auto place = [&](int64_t number) KT_INLINE_LAMBDA {
        const int64_t t = s.first + number;
        if (beams == nullptr || t == s.step) return own + t * s.width;
        return (sentence + beams[t]) * of_row + key_head * of_head + t * s.width;
      };
      attend(
          packed + there, [&](int64_t t) KT_INLINE_LAMBDA { return s.keys + place(t); },
          [&](int64_t t) KT_INLINE_LAMBDA { return s.values + place(t); },
          [&](float* scores) KT_INLINE_LAMBDA {
            s.scores.bound(scores, seen);
            s.scores.add_biases(head, s.first - s.step, seen, scores);
          },
          seen, s.width, output + there);
    }
  }
}

// Reads caches, step and beams, which are consecutive inputs, and makes the caches' outputs. There are
// as many heads of queries as of keys. A `window` of 0 sees all places.
Step read_step(Context& context, size_t place, size_t output, int64_t window) {
  const Shape shape = context.shape(place, "cached keys", 4);
  Step step{};
  step.rows = shape[0], step.shared = shape[1], step.capacity = shape[2], step.width = shape[3];
  check_heads(step.shared, step.width);
  step.heads = step.shared;
  context.input<float>(place + 1, "cached values", {shape[0], shape[1], shape[2], shape[3]});
  step.step = *context.input<int32_t>(place + 2, "step", {1});
  if (step.step < 0 || step.step >= step.capacity) {
    throw std::invalid_argument("step " + std::to_string(step.step) + " is outside a cache of " +
                                std::to_string(step.capacity) + " tokens");
  }
  step.first = window > 0 ? std::max<int64_t>(0, step.step - window + 1) : 0;
  step.table = BeamTable::read(context, place + 3, step.rows, step.capacity);
  step.table.check(step.rows, 0, step.step);
  step.keys = cache_of(context, place, output, shape);
  step.values = cache_of(context, place + 1, output + 1, shape);
  return step;
}

}  // namespace

float* cache_of(Context& context, size_t input, size_t output, const Shape& shape) {
  const float* old = context.input<float>(input);
  float* cache = context.output<float>(output, {shape[0], shape[1], shape[2], shape[3]});
  if (cache != old) std::copy_n(old, shape[0] * shape[1] * shape[2] * shape[3], cache);
  return cache;
}

int64_t heads_of(int64_t columns, int64_t shared, int64_t width) {
  const int64_t heads = columns / width - 2 * shared;
  if (columns % width || heads < shared || heads % shared) {
    throw std::invalid_argument(
        "packed must hold a multiple of " + std::to_string(shared) + " heads of queries, and " +
        std::to_string(shared) + " each of keys and values, of " + std::to_string(width) +
        " numbers, got " + std::to_string(columns));
  }
  return heads;
}

void SelfAttention::compute(Context& context) const {
  Step step = read_step(context, 1, 1, window_);
  step.heads = heads_of(context.shape(0, "packed", 2)[1], step.shared, step.width);
  step.scores = scores_;
  scores_.check(context, kBiases, step.heads);
  const int64_t columns = step.packed_width(), model = step.model_width();
  const float* packed = context.input<float>(0, "packed", {step.rows, columns});
  float* output = context.output<float>(0, {step.rows, model});
  context.parallel_for(step.rows, step.cost(), [&](int64_t first, int64_t last) {
    fastest<attend_rows>(step, first, last - first, packed + first * columns,
                         output + first * model);
  });
}

void SelfAttentionSubLayer::compute(Context& context) const {
  const Step step = read_step(context, SubLayer::kOwnInputs, 2, window_);
  const int64_t model = step.model_width();
  const auto attend = [&](int64_t row, int64_t count, const float* packed, float* output) {
    fastest<attend_rows>(step, row, count, packed, output);
    return output;
  };
  const auto rows = layer_.rows(context, step.rows, step.packed_width(), kLinear, model);
  layer_.run(context, rows, step.cost(), attend);
}

}  // namespace keras_transformer
