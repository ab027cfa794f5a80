// The products of `byte_products.h`, `int4.h` and `linear.h` with AVX-VNNI: AVX-512's sums of products in the
// registers of AVX2, which processors without AVX-512 have.
#include "instructions.h"
#ifdef KT_X86
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "byte_products.h"
#include "int4.h"
#include "linear.h"
#include "target.h"

KT_TARGET("avx2,fma,avxvnni")
#define KT_AVX
#define KT_INSTRUCTIONS avxvnni
#include "avx_sums.h"
namespace keras_transformer::KT_INSTRUCTIONS {

KT_INLINE Sums multiply_add(Sums sums, const uint8_t* row, const int8_t* weights) {
  const Sums bytes = load_sums(reinterpret_cast<const int32_t*>(weights));
  const __m256i four = repeat(row);
  return {_mm256_dpbusd_avx_epi32(sums.low, four, bytes.low),
          _mm256_dpbusd_avx_epi32(sums.high, four, bytes.high)};
}

KT_INLINE Sums multiply_add(Sums sums, const int16_t* two, Weights weights) {
  const __m256i both = repeat(two);
  return {_mm256_dpwssd_avx_epi32(sums.low, both, weights.low),
          _mm256_dpwssd_avx_epi32(sums.high, both, weights.high)};
}

constexpr int kInt4Tall = 2;

KT_INLINE __m256i add_octet(__m256i sums, __m256i even, __m256i odd, __m256i two) {
  const __m256i lower = _mm256_set1_epi8(15);
  const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(two, 4), lower);
  sums = _mm256_dpbusd_avx_epi32(sums, _mm256_and_si256(two, lower), even);
  return _mm256_dpbusd_avx_epi32(sums, upper, odd);
}

KT_INLINE Sums add_octet(Sums sums, const int8_t* row, const uint8_t* weights) {
  const Sums two = load_sums(reinterpret_cast<const int32_t*>(weights));
  const __m256i even = repeat(row), odd = repeat(row + 4);
  return {add_octet(sums.low, even, odd, two.low), add_octet(sums.high, even, odd, two.high)};
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "byte_tiles.h"
#include "int4_tiles.h"
#include "linear_tiles.h"
KT_END_TARGET
#endif
