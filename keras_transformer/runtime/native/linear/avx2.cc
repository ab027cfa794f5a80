// The loops of `byte_products.h` and `linear.h` with AVX2.
#include "instructions.h"
#ifdef KT_X86
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

// Before the pragma: their inline functions are linked with those of files for every processor.
#include "linear.h"
#include "ranking.h"

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define KT_AVX
#include "vectors.h"

#define KT_INSTRUCTIONS avx2
namespace keras_transformer::KT_INSTRUCTIONS {

constexpr int kTall = 4, kBroad = 1, kParts = 4;
struct Sums {
  __m256i low, high;
};

KT_INLINE Sums load_sums(const int32_t* from) {
  const __m256i* halves = reinterpret_cast<const __m256i*>(from);
  return {_mm256_loadu_si256(halves), _mm256_loadu_si256(halves + 1)};
}

KT_INLINE void store_sums(int32_t* to, Sums sums) {
  __m256i* halves = reinterpret_cast<__m256i*>(to);
  _mm256_storeu_si256(halves, sums.low);
  _mm256_storeu_si256(halves + 1, sums.high);
}

// Two products fit into 16 bits as no two neighbours of the weights sum to more than 128:
// 255 · 128 < 2¹⁵.
KT_INLINE Sums multiply_add(Sums sums, const uint8_t* row, const int8_t* weights) {
  int32_t four;
  std::memcpy(&four, row, sizeof four);
  const Sums bytes = load_sums(reinterpret_cast<const int32_t*>(weights));
  const __m256i all = _mm256_set1_epi32(four), ones = _mm256_set1_epi16(1);
  const __m256i low = _mm256_madd_epi16(_mm256_maddubs_epi16(all, bytes.low), ones);
  const __m256i high = _mm256_madd_epi16(_mm256_maddubs_epi16(all, bytes.high), ones);
  return {_mm256_add_epi32(sums.low, low), _mm256_add_epi32(sums.high, high)};
}

KT_INLINE Sums join(Sums a, Sums b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}

using Wide = Floats;
KT_INLINE bool any_lane(Ints mask) { return any(mask); }

constexpr int kLinearTall = 2, kLinearBroad = 2, kLinearLone = 2;
struct Weights {
  __m256i low, high;
};

KT_INLINE Weights widen(const int8_t* weights) {
  const __m128i* halves = reinterpret_cast<const __m128i*>(weights);
  return {_mm256_cvtepi8_epi16(_mm_loadu_si128(halves)),
          _mm256_cvtepi8_epi16(_mm_loadu_si128(halves + 1))};
}

KT_INLINE Sums multiply_add(Sums sums, const int16_t* two, Weights weights) {
  int32_t both;
  std::memcpy(&both, two, sizeof both);
  const __m256i all = _mm256_set1_epi32(both);
  return {_mm256_add_epi32(sums.low, _mm256_madd_epi16(all, weights.low)),
          _mm256_add_epi32(sums.high, _mm256_madd_epi16(all, weights.high))};
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "byte_tiles.h"
#include "linear_tiles.h"
#include "ranking_loops.h"
// Templates are instantiated at the end of the file, where code must run on every processor.
#pragma GCC pop_options
#endif
