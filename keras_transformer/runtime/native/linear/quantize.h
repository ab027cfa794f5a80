// Rounds rows to integers: to bytes for `QuantizeRows` and `ByteHead`, and to words for
// `BytesLinear`, the same to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "vectors.h"

namespace keras_transformer {

// The factor that takes a row's largest absolute value to `most`; tiny values count as zero.
KT_INLINE float rounding_factor(float top, float most) { return top > 1e-30f ? most / top : 0.0f; }

// Rounds value / step + middle and returns the step; the middle is 128, or 0 for values of which
// none is negative. `top` is the row's largest absolute value; if it is NaN or infinite, the step is
// NaN, and so is all that follows.
KT_INLINE float round_row(const float* values, int64_t width, float top, float middle,
                          uint8_t* bytes) {
  const float most = middle > 0 ? 127.0f : 255.0f, factor = rounding_factor(top, most);
  if (!std::isfinite(top)) {
    std::fill(bytes, bytes + width, static_cast<uint8_t>(middle));
    return std::numeric_limits<float>::quiet_NaN();
  }
  for (int64_t i = 0; i < width; ++i) {
    bytes[i] = static_cast<uint8_t>(static_cast<int32_t>(values[i] * factor + (middle + 0.5f)));
  }
  return top / most;
}

// Does as `round_row`, for a row of which nothing is known.
KT_INLINE float quantize_row(const float* values, int64_t width, float middle, uint8_t* bytes) {
  return round_row(values, width, largest_size(values, width), middle, bytes);
}

// Rounds value / step to at most `most`; returns the step, NaN as above.
KT_INLINE float quantize_row(const float* values, int64_t width, float most, int16_t* words) {
  constexpr int32_t kMiddle = 1 << 15;
  const float top = largest_size(values, width), factor = rounding_factor(top, most);
  if (!std::isfinite(top)) {
    std::fill(words, words + width, int16_t{0});
    return std::numeric_limits<float>::quiet_NaN();
  }
  for (int64_t i = 0; i < width; ++i) {
    const int32_t shifted = static_cast<int32_t>(values[i] * factor + (kMiddle + 0.5f));
    words[i] = static_cast<int16_t>(shifted - kMiddle);
  }
  return top / most;
}

}  // namespace keras_transformer
