// Products with weights in bfloat16, the upper half of a float32, summed in float32.
//
// Inputs are rounded to bfloat16, too, whatever the processor multiplies with. A row's sums are made
// in the same order among any others, so that it is the same to the last bit in any batch.
#pragma once

#include <cstdint>
#include <cstring>

#include "instructions.h"
#include "linear.h"
#include "vectors.h"

namespace keras_transformer {

// The number that the count of pairs of weights is a multiple of: so many of a block are a tile of
// AMX. Of rows to multiply there is room for whole tiles, too.
constexpr int64_t kPairs = 16, kRowsOfTile = 16;

struct Bfloat16Matrix {
  int64_t pairs, outputs;
  const uint16_t* weights;  // (blocks, pairs, 16, 2)
  const float* biases;      // (blocks, 16)

  int64_t width() const { return kPair * pairs; }
  const uint16_t* block(int64_t number) const { return weights + number * pairs * kPair * kBlock; }
};

// rows (count, width) in bfloat16 → output (count, outputs), of which the outputs of the blocks from
// `first` to `last` are written.
using MultiplyBfloat16 = void (*)(const Bfloat16Matrix&, int64_t first, int64_t last,
                                  const uint16_t* rows, int64_t count, float* output);

#ifdef KT_X86
namespace bf16 {
void multiply(const Bfloat16Matrix&, int64_t first, int64_t last, const uint16_t* rows,
              int64_t count, float* output);
}
namespace amx {
void multiply(const Bfloat16Matrix&, int64_t first, int64_t last, const uint16_t* rows,
              int64_t count, float* output);
}
#endif

// The products of every other processor, in float32.
void multiply_widened(const Bfloat16Matrix&, int64_t first, int64_t last, const uint16_t* rows,
                      int64_t count, float* output);

inline MultiplyBfloat16 fastest_multiply_bfloat16() {
#ifdef KT_X86
  if (has_bfloat16_tiles()) return amx::multiply;
  const bool allows = instructions() >= Instructions::kBf16;
  if (allows && is_usable(Instructions::kBf16)) return bf16::multiply;
#endif
  return multiply_widened;
}

KT_INLINE float widened(uint16_t value) {
  const uint32_t bits = static_cast<uint32_t>(value) << 16;
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

// The nearest bfloat16, of two the even one; NaN stays NaN.
KT_INLINE uint16_t to_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t nearest = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet : nearest);
}

}  // namespace keras_transformer
