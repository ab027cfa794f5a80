// The loops of `byte_products.h`, `int4.h`, `linear.h`, `float32.h` and `ranking.h` with AVX2.
#include "instructions.h"
#ifdef KT_X86
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>

#include "int4.h"
#include "linear.h"
#include "ranking.h"
#include "target.h"

KT_TARGET("avx2,fma")
#define KT_AVX
#define KT_INSTRUCTIONS avx2
#include "avx_sums.h"
namespace keras_transformer::KT_INSTRUCTIONS {

// Two products fit into 16 bits as no two neighbours of the weights sum to more than 128:
// 255 · 128 < 2¹⁵.
KT_INLINE Sums multiply_add(Sums sums, const uint8_t* row, const int8_t* weights) {
  const Sums bytes = load_sums(reinterpret_cast<const int32_t*>(weights));
  const __m256i four = repeat(row), ones = _mm256_set1_epi16(1);
  const __m256i low = _mm256_madd_epi16(_mm256_maddubs_epi16(four, bytes.low), ones);
  const __m256i high = _mm256_madd_epi16(_mm256_maddubs_epi16(four, bytes.high), ones);
  return {_mm256_add_epi32(sums.low, low), _mm256_add_epi32(sums.high, high)};
}

KT_INLINE Sums multiply_add(Sums sums, const int16_t* two, Weights weights) {
  const __m256i both = repeat(two);
  return {_mm256_add_epi32(sums.low, _mm256_madd_epi16(both, weights.low)),
          _mm256_add_epi32(sums.high, _mm256_madd_epi16(both, weights.high))};
}

constexpr int kInt4Tall = 2;

// Four products fit into 16 bits: 4 · 15 · 127 < 2¹⁵.
KT_INLINE __m256i add_octet(__m256i sums, __m256i even, __m256i odd, __m256i two) {
  const __m256i lower = _mm256_set1_epi8(15);
  const __m256i first = _mm256_maddubs_epi16(_mm256_and_si256(two, lower), even);
  const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(two, 4), lower);
  const __m256i words = _mm256_add_epi16(first, _mm256_maddubs_epi16(upper, odd));
  return _mm256_add_epi32(sums, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
}

KT_INLINE Sums add_octet(Sums sums, const int8_t* row, const uint8_t* weights) {
  const Sums two = load_sums(reinterpret_cast<const int32_t*>(weights));
  const __m256i even = repeat(row), odd = repeat(row + 4);
  return {add_octet(sums.low, even, odd, two.low), add_octet(sums.high, even, odd, two.high)};
}

KT_INLINE uint32_t lanes_of(Ints mask) { return _mm256_movemask_ps((__m256)mask); }

constexpr int kFloatTall = 6, kFloatBroad = 1, kFloatLone = 4;

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "byte_tiles.h"
#include "float32_tiles.h"
#include "int4_tiles.h"
#include "linear_tiles.h"
#include "ranking_loops.h"
// Templates are instantiated at the end of the file, where code must run on every processor.
KT_END_TARGET
#endif
