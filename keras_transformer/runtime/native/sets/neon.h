// Sixteen sums in four of arm64's registers, in the namespace KT_INSTRUCTIONS: what the loops of
// `byte_tiles.h` and `linear_tiles.h` need but for the products.
#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "vectors.h"

namespace keras_transformer::KT_INSTRUCTIONS {

constexpr int kTall = 4, kBroad = 1, kParts = 4;
struct Sums {
  int32x4_t of[4];
};

KT_INLINE Sums load_sums(const int32_t* from) {
  return {vld1q_s32(from), vld1q_s32(from + 4), vld1q_s32(from + 8), vld1q_s32(from + 12)};
}

KT_INLINE void store_sums(int32_t* to, const Sums& sums) {
  for (int part = 0; part < 4; ++part) vst1q_s32(to + 4 * part, sums.of[part]);
}

KT_INLINE Sums join(Sums a, const Sums& b) {
  for (int part = 0; part < 4; ++part) a.of[part] = vaddq_s32(a.of[part], b.of[part]);
  return a;
}

// Four bytes of a row, in all of a register's places.
KT_INLINE uint8x16_t repeat(const uint8_t* row) {
  uint32_t four;
  std::memcpy(&four, row, sizeof four);
  return vreinterpretq_u8_u32(vdupq_n_u32(four));
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
