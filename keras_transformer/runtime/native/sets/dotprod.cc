// The products of `byte_products.h`, `int4.h` and `linear.h` with arm64's dot products.
#include "instructions.h"
#ifdef KT_ARM
#include <arm_neon.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "byte_products.h"
#include "int4.h"
#include "linear.h"
#include "target.h"

KT_TARGET("arch=armv8.2-a+dotprod")
#define KT_INSTRUCTIONS dotprod
#include "neon.h"
namespace keras_transformer::KT_INSTRUCTIONS {

using Wide = Floats;

// The words of a pair that each output begins with, and those that it ends with.
constexpr int kLinearTall = 4, kLinearBroad = 1, kLinearLone = 2;
struct Weights {
  int16x8_t first[2], second[2];
};

KT_INLINE Weights widen(const int8_t* weights) {
  const int8x16x2_t pairs = vld2q_s8(weights);
  return {{vmovl_s8(vget_low_s8(pairs.val[0])), vmovl_high_s8(pairs.val[0])},
          {vmovl_s8(vget_low_s8(pairs.val[1])), vmovl_high_s8(pairs.val[1])}};
}

KT_INLINE Sums multiply_add(Sums sums, const int16_t* two, const Weights& weights) {
  for (int half = 0; half < 2; ++half) {
    const int16x8_t first = weights.first[half], second = weights.second[half];
    int32x4_t& low = sums.of[2 * half];
    int32x4_t& high = sums.of[2 * half + 1];
    low = vmlal_n_s16(low, vget_low_s16(first), two[0]);
    low = vmlal_n_s16(low, vget_low_s16(second), two[1]);
    high = vmlal_high_n_s16(high, first, two[0]);
    high = vmlal_high_n_s16(high, second, two[1]);
  }
  return sums;
}

constexpr int kInt4Tall = 2;

KT_INLINE Sums add_octet(Sums sums, const int8_t* row, const uint8_t* weights) {
  const int8x16_t even = vreinterpretq_s8_u8(repeat(reinterpret_cast<const uint8_t*>(row)));
  const int8x16_t odd = vreinterpretq_s8_u8(repeat(reinterpret_cast<const uint8_t*>(row + 4)));
  for (int part = 0; part < 4; ++part) {
    const uint8x16_t two = vld1q_u8(weights + 16 * part);
    const int8x16_t lower = vreinterpretq_s8_u8(vandq_u8(two, vdupq_n_u8(15)));
    const int8x16_t upper = vreinterpretq_s8_u8(vshrq_n_u8(two, 4));
    sums.of[part] = vdotq_s32(vdotq_s32(sums.of[part], lower, even), upper, odd);
  }
  return sums;
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "int4_tiles.h"
#include "linear_tiles.h"

// Both factors must be without signs: weights are multiplied as if they were 128 larger.
#undef KT_INSTRUCTIONS
#define KT_INSTRUCTIONS dotprod::raised
namespace keras_transformer::KT_INSTRUCTIONS {

constexpr uint8_t kRaise = 128;

KT_INLINE Sums multiply_add(Sums sums, const uint8_t* row, const int8_t* weights) {
  const uint8x16_t four = repeat(row);
  for (int part = 0; part < 4; ++part) {
    const uint8x16_t bytes = vreinterpretq_u8_s8(vld1q_s8(weights + 16 * part));
    sums.of[part] = vreinterpretq_s32_u32(vdotq_u32(vreinterpretq_u32_s32(sums.of[part]), four,
                                                    veorq_u8(bytes, vdupq_n_u8(kRaise))));
  }
  return sums;
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "byte_tiles.h"
namespace keras_transformer::dotprod {

void sum_bytes(const ByteMatrix& m, int64_t block, int64_t count, const uint8_t* rows,
               int64_t num_rows, int32_t* sums) {
  raised::sum_bytes(m, block, count, rows, num_rows, sums);
  for (int64_t row = 0; row < num_rows; ++row, rows += kBytes * m.quads, sums += kSumsOfRow) {
    uint32_t total = 0;
    for (int64_t i = 0; i < kBytes * m.quads; ++i) total += rows[i];
    // Sums may have left 31 bits on the way; modulo 2³² they are right again.
    const uint32_t excess = raised::kRaise * total;
    for (int64_t i = 0; i < count * kTokens; ++i) {
      sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) - excess);
    }
  }
}

}  // namespace keras_transformer::dotprod
KT_END_TARGET
#endif
