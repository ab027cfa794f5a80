// Attention of every beam of a sentence to the sentence's source.
#include "attention.h"
#include "operators.h"

namespace keras_transformer {
namespace {

// What is added to the scores of padding: far below any score, far above float32's limit.
constexpr float kMasked = -1e9f;

struct Source {
  const float* queries;  // (batch · beams, heads · width)
  const float* keys;     // (batch, heads, length, width)
  const float* values;
  const int32_t* mask;  // (batch, length), 1 where there is a token
  int64_t beams, heads, length, width;
  float* output;  // (batch · beams, heads · width)
};

KT_CLONES void attend_rows(const Source& s, int64_t first, int64_t last) {
  const int64_t model = s.heads * s.width;
  for (int64_t row = first; row < last; ++row) {
    const int64_t sentence = row / s.beams;
    const int32_t* mask = s.mask + sentence * s.length;
    for (int64_t head = 0; head < s.heads; ++head) {
      const int64_t there = (sentence * s.heads + head) * s.length * s.width;
      const float *keys = s.keys + there, *values = s.values + there;
      attend(
          s.queries + row * model + head * s.width,
          [&](int64_t t) KT_INLINE_LAMBDA { return keys + t * s.width; },
          [&](int64_t t) KT_INLINE_LAMBDA { return values + t * s.width; },
          [&](int64_t t) KT_INLINE_LAMBDA { return mask[t] ? 0.0f : kMasked; }, s.length, s.width,
          s.output + row * model + head * s.width);
    }
  }
}

}  // namespace

void CrossAttention::compute(Context& context) const {
  const auto [batch, heads, length, width] = context.shape(1);
  const int64_t beams = batch ? context.shape(0)[0] / batch : 1, rows = batch * beams;
  Source source{};
  source.queries = context.input<float>(0, "queries", {rows, heads * width});
  source.keys = context.input<float>(1);
  source.values = context.input<float>(2, "values", {batch, heads, length, width});
  source.mask = context.input<int32_t>(3, "mask", {batch, length});
  source.beams = beams;
  source.heads = heads, source.length = length, source.width = width;
  source.output = context.output<float>(0, {rows, heads * width});
  const double each = heads * length * (4 + width * 0.1);
  context.parallel_for(rows, each, [&](int64_t first, int64_t last) {
    attend_rows(source, first, last);
  });
}

}  // namespace keras_transformer
