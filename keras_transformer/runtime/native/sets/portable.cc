// The loops of `byte_products.h`, `int4.h`, `linear.h`, `float32.h` and `ranking.h` for any processor.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "vectors.h"

#define KT_INSTRUCTIONS portable
namespace keras_transformer::KT_INSTRUCTIONS {

constexpr int kTall = 1, kBroad = 1, kParts = 1;
// Unsigned, so that they wrap round as vector instructions do, whatever a graph stores as starts.
struct Sums {
  uint32_t of[16];
};

KT_INLINE Sums load_sums(const int32_t* from) {
  Sums sums;
  std::memcpy(&sums, from, sizeof sums);
  return sums;
}

KT_INLINE void store_sums(int32_t* to, const Sums& sums) { std::memcpy(to, &sums, sizeof sums); }

KT_INLINE Sums multiply_add(Sums sums, const uint8_t* row, const int8_t* weights) {
  for (int token = 0; token < 16; ++token) {
    for (int i = 0; i < 4; ++i) sums.of[token] += static_cast<uint32_t>(row[i] * weights[4 * token + i]);
  }
  return sums;
}

KT_INLINE Sums join(Sums a, const Sums& b) {
  for (int token = 0; token < 16; ++token) a.of[token] += b.of[token];
  return a;
}

using Wide = Floats;
KT_INLINE uint32_t lanes_of(Ints mask) {
  uint32_t lanes = 0;
  for (int lane = 0; lane < kLanes; ++lane) lanes |= (mask[lane] != 0) << lane;
  return lanes;
}

constexpr int kLinearTall = 1, kLinearBroad = 1, kLinearLone = 1;
struct Weights {
  int16_t of_outputs[32];
};

KT_INLINE Weights widen(const int8_t* weights) {
  Weights words;
  for (int i = 0; i < 32; ++i) words.of_outputs[i] = weights[i];
  return words;
}

KT_INLINE Sums multiply_add(Sums sums, const int16_t* two, const Weights& weights) {
  for (int output = 0; output < 16; ++output) {
    for (int i = 0; i < 2; ++i) {
      sums.of[output] += static_cast<uint32_t>(two[i] * weights.of_outputs[2 * output + i]);
    }
  }
  return sums;
}

constexpr int kInt4Tall = 1;

KT_INLINE Sums add_octet(Sums sums, const int8_t* row, const uint8_t* weights) {
  for (int output = 0; output < 16; ++output) {
    int32_t sum = 0;
    for (int i = 0; i < 4; ++i) {
      const int two = weights[4 * output + i];
      sum += (two & 15) * row[i] + (two >> 4) * row[4 + i];
    }
    sums.of[output] += static_cast<uint32_t>(sum);
  }
  return sums;
}

constexpr int kFloatTall = 4, kFloatBroad = 1, kFloatLone = 1;

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "byte_tiles.h"
#include "float32_tiles.h"
#include "int4_tiles.h"
#include "linear_tiles.h"
#include "ranking_loops.h"
