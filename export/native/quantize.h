// A row in bytes: what `QuantizeRows` gives and `BestToken` multiplies, the same to the last bit.
#pragma once

#include "vectors.h"

namespace keras_transformer {

// Rounds value / step + middle, where the middle is 128, or 0 for values of which none is negative;
// returns the step.
KT_INLINE float quantize_row(const float* values, int64_t width, float middle, uint8_t* bytes) {
  const float most = middle > 0 ? 127.0f : 255.0f;
  const float top = largest_size(values, width);
  const float factor = top > 0 ? most / top : 0.0f;
  for (int64_t i = 0; i < width; ++i) {
    bytes[i] = static_cast<uint8_t>(static_cast<int32_t>(values[i] * factor + (middle + 0.5f)));
  }
  return top / most;
}

}  // namespace keras_transformer
