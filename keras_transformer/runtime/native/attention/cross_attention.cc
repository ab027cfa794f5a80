// Attention of every beam of a sentence to the sentence's source.
#include <string>

#include "attention.h"
#include "attention_operators.h"
#include "versions.h"

namespace keras_transformer {
namespace {

struct Source {
  const float* keys;  // (batch, heads, length, width)
  const float* values;
  const int32_t* mask;  // (batch, length), 1 for tokens
  int64_t rows, beams, heads, shared, length, width;
  Scores cap;

  int64_t model_width() const { return heads * width; }
  double cost() const { return static_cast<double>(heads) * length * (4 + width * 0.1); }
};

// The places up to the last token, or all if there is none: what lies behind has the weight 0.
KT_INLINE int64_t places_seen(const int32_t* mask, int64_t length) {
  int64_t count = length;
  while (count > 0 && !mask[count - 1]) --count;
  return count > 0 ? count : length;
}

// queries (count, heads · width) of some rows → output (count, heads · width).
KT_INLINE void attend_rows(const Source& s, int64_t first, int64_t count, const float* queries,
                           float* output) {
  const int64_t model = s.model_width(), group = s.heads / s.shared;
  for (int64_t row = first; row < first + count; ++row, queries += model, output += model) {
    const int64_t sentence = row / s.beams;
    const int32_t* mask = s.mask + sentence * s.length;
    const int64_t seen = places_seen(mask, s.length);
    for (int64_t head = 0; head < s.heads; ++head) {
      const int64_t there = (sentence * s.shared + head / group) * s.length * s.width;
      const float *keys = s.keys + there, *values = s.values + there;
      attend(
          queries + head * s.width,
          [&](int64_t t) KT_INLINE_LAMBDA { return keys + t * s.width; },
          [&](int64_t t) KT_INLINE_LAMBDA { return values + t * s.width; },
          [&](float* scores) KT_INLINE_LAMBDA {
            s.cap.bound(scores, seen);
            for (int64_t t = 0; t < seen; ++t) scores[t] += mask[t] ? 0.0f : kMasked;
          },
          seen, s.width, output + head * s.width);
    }
  }
}

// Reads keys, values and mask, which are consecutive inputs, for all rows of the queries, which have as
// many heads.
Source read_source(Context& context, size_t place) {
  const auto [batch, heads, length, width] = context.shape(place, "keys", 4).sizes;
  check_heads(heads, width);
  Source source{};
  source.keys = context.input<float>(place);
  source.values = context.input<float>(place + 1, "values", {batch, heads, length, width});
  source.mask = context.input<int32_t>(place + 2, "mask", {batch, length});
  source.beams = batch ? context.shape(0)[0] / batch : 1;
  source.rows = batch * source.beams;
  source.heads = source.shared = heads, source.length = length, source.width = width;
  return source;
}

}  // namespace

void CrossAttention::compute(Context& context) const {
  Source source = read_source(context, 1);
  const int64_t model = context.shape(0, "queries", 2)[1];
  if (model == 0 || model % source.model_width()) {
    throw std::invalid_argument("queries must hold a multiple of " + std::to_string(source.shared) +
                                " heads of " + std::to_string(source.width) + " numbers, got " +
                                std::to_string(model));
  }
  source.heads = model / source.width;
  source.cap = cap_;
  const float* queries = context.input<float>(0, "queries", {source.rows, model});
  float* output = context.output<float>(0, {source.rows, model});
  context.parallel_for(source.rows, source.cost(), [&](int64_t first, int64_t last) {
    fastest<attend_rows>(source, first, last - first, queries + first * model,
                         output + first * model);
  });
}

void CrossAttentionSubLayer::compute(Context& context) const {
  const Source source = read_source(context, SubLayer::kOwnInputs);
  const int64_t model = source.model_width();
  const auto attend = [&](int64_t row, int64_t count, const float* queries, float* output) {
    fastest<attend_rows>(source, row, count, queries, output);
    return output;
  };
  const auto rows = layer_.rows(context, source.rows, model, kLinear, model);
  layer_.run(context, rows, source.cost(), attend);
}

}  // namespace keras_transformer
