// The loops of `byte_products.h`, `int4.h`, `linear.h`, `float32.h` and `ranking.h` with AVX-512's VNNI.
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

KT_TARGET("avx2,fma,avx512f,avx512bw,avx512vnni")
#define KT_AVX
#include "vectors.h"

#define KT_INSTRUCTIONS vnni
namespace keras_transformer::KT_INSTRUCTIONS {

constexpr int kTall = 4, kBroad = 4, kParts = 8;
using Sums = __m512i;

KT_INLINE Sums load_sums(const int32_t* from) { return _mm512_loadu_si512(from); }

KT_INLINE void store_sums(int32_t* to, Sums sums) { _mm512_storeu_si512(to, sums); }

KT_INLINE Sums multiply_add(Sums sums, const uint8_t* row, const int8_t* weights) {
  int32_t four;
  std::memcpy(&four, row, sizeof four);
  return _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(four), _mm512_loadu_si512(weights));
}

KT_INLINE Sums join(Sums a, Sums b) { return _mm512_add_epi32(a, b); }

KT_INLINE uint32_t lanes_of(__m512i mask) { return _mm512_test_epi32_mask(mask, mask); }

constexpr int kLinearTall = 4, kLinearBroad = 4, kLinearLone = 8;
using Weights = __m512i;

KT_INLINE Weights widen(const int8_t* weights) {
  return _mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights)));
}

KT_INLINE Sums multiply_add(Sums sums, const int16_t* two, Weights weights) {
  int32_t both;
  std::memcpy(&both, two, sizeof both);
  return _mm512_dpwssd_epi32(sums, _mm512_set1_epi32(both), weights);
}

constexpr int kInt4Tall = 8;

KT_INLINE Sums add_octet(Sums sums, const int8_t* row, const uint8_t* weights) {
  int32_t even, odd;
  std::memcpy(&even, row, sizeof even);
  std::memcpy(&odd, row + 4, sizeof odd);
  const __m512i two = _mm512_loadu_si512(weights), lower = _mm512_set1_epi8(15);
  const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(two, 4), lower);
  sums = _mm512_dpbusd_epi32(sums, _mm512_and_si512(two, lower), _mm512_set1_epi32(even));
  return _mm512_dpbusd_epi32(sums, upper, _mm512_set1_epi32(odd));
}

constexpr int kFloatTall = 12, kFloatBroad = 2, kFloatLone = 4;

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "byte_tiles.h"
#include "float32_tiles.h"
#include "int4_tiles.h"
#include "linear_tiles.h"
#include "ranking_loops.h"
// Templates are instantiated at the end of the file, where code must run on every processor.
KT_END_TARGET
#endif
