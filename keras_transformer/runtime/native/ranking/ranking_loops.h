// The loops of `ranking.h` in the namespace KT_INSTRUCTIONS. Before a file includes this, it
// defines that name and, in the namespace, `Wide`, a vector of floats, and `lanes_of`, a bit for
// each lane in which a comparison holds.
#include <cstring>

#include "ranking.h"
#include "vectors.h"

namespace keras_transformer::KT_INSTRUCTIONS {

constexpr int64_t kWide = sizeof(Wide) / sizeof(float);
using WideInts = decltype(Wide{} < Wide{});

KT_INLINE Wide load_wide(const float* from) {
  Wide values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

KT_INLINE float largest_of(Wide values) {
  float top = values[0];
  for (int lane = 1; lane < kWide; ++lane) top = values[lane] > top ? values[lane] : top;
  return top;
}

Normaliser rank_logits(const float* logits, int64_t count, int64_t first, List& list) {
  Wide tops = load_wide(logits);
  for (int64_t i = kWide; i < count; i += kWide) {
    const Wide values = load_wide(logits + i);
    tops = values > tops ? values : tops;
  }
  const float top = largest_of(tops);
  // If all are -∞ the total is 0; -∞ - (-∞) would be NaN.
  const float base = top == -std::numeric_limits<float>::infinity() ? 0.0f : top;
  Wide totals{};
  for (int64_t i = 0; i < count; i += kWide) {
    totals += exp_of_negative(load_wide(logits + i) - base);
  }
  float total = 0;
  for (int lane = 0; lane < kWide; ++lane) total += totals[lane];
  if (top < list.least()) return {top, total};
  for (int64_t i = 0; i < count; i += kWide) {
    uint32_t found = lanes_of(load_wide(logits + i) >= list.least());
    for (; found != 0; found &= found - 1) {
      const int64_t j = i + __builtin_ctz(found);
      list.insert({logits[j], static_cast<int32_t>(first + j)});
    }
  }
  return {top, total};
}

void scale_blocks(const int32_t* sums, const float* bounds, int64_t count, float step,
                  float* logits) {
  for (int64_t i = 0; i < count; i += kTokens, bounds += 3 * kTokens) {
    for (int64_t j = 0; j < kTokens; j += kWide) {
      WideInts of_tokens;
      std::memcpy(&of_tokens, sums + i + j, sizeof of_tokens);
      const Wide scaled = __builtin_convertvector(of_tokens, Wide) * load_wide(bounds + j) * step;
      std::memcpy(logits + i + j, &scaled, sizeof scaled);
    }
  }
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
