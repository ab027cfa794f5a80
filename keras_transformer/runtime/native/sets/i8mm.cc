// The products of `byte_products.h` with arm64's i8mm, which multiplies bytes with and without signs.
#include "instructions.h"
#ifdef KT_ARM
#include <arm_neon.h>

#include <cstring>

#include "byte_products.h"
#include "target.h"

KT_TARGET("arch=armv8.2-a+dotprod+i8mm")
#define KT_INSTRUCTIONS i8mm
#include "neon.h"
namespace keras_transformer::KT_INSTRUCTIONS {

KT_INLINE Sums multiply_add(Sums sums, const uint8_t* row, const int8_t* weights) {
  const uint8x16_t four = repeat(row);
  for (int part = 0; part < 4; ++part) {
    sums.of[part] = vusdotq_s32(sums.of[part], four, vld1q_s8(weights + 16 * part));
  }
  return sums;
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "byte_tiles.h"
KT_END_TARGET
#endif
