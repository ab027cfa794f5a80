// A linear layer with weights in bytes: what `BytesLinear` computes, compiled for several sets of
// instructions.
//
// Inputs are words, whose products with bytes are integers, so that the order of summing changes
// nothing: a row is the same to the last bit in any batch. Words are close enough to float32 inputs;
// bytes would add another rounding as coarse as that of the weights.
#pragma once

#include <cstdint>

#include "instructions.h"

namespace keras_transformer {

// Outputs in a block, and weights of each output stored together.
constexpr int kBlock = 16, kPair = 2;

struct Linear {
  int64_t pairs, outputs;
  const int8_t* bytes;  // (blocks, pairs, 16, 2): the weights
  const float* ends;    // (blocks, 2, 16): the scale of an output's sum, and its bias
  float floor;          // the floor that outputs are raised to: 0 is ReLU
};

// words (rows, 2 · pairs) and the scale of each row's (rows) → output (rows, outputs).
using Multiply = void (*)(const Linear&, const int16_t* words, const float* steps, int64_t rows,
                          float* output);

#define KT_DECLARE(set)                                                                         \
  namespace set {                                                                               \
  void multiply(const Linear&, const int16_t* words, const float* steps, int64_t rows,          \
                float* output);                                                                 \
  }
KT_DECLARE(portable)
#if defined(KT_X86)
KT_DECLARE(avx2)
KT_DECLARE(avxvnni)
KT_DECLARE(vnni)
#elif defined(KT_ARM)
KT_DECLARE(dotprod)
#endif
#undef KT_DECLARE

inline Multiply fastest_multiply() {
#if defined(KT_X86)
  if (instructions() == Instructions::kAvxVnni) return avxvnni::multiply;
#elif defined(KT_ARM)
  if (instructions() >= Instructions::kDotprod) return dotprod::multiply;
#endif
  return KT_FASTEST(multiply);
}

}  // namespace keras_transformer
