// The loops of `screen.h` and `linear.h` with AVX-512's VNNI.
#include "instructions.h"
#ifdef KT_X86
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#pragma GCC push_options
#pragma GCC target("avx2,fma,avx512f,avx512vl,avx512vnni")
#define KT_AVX
#include "vectors.h"

#define KT_INSTRUCTIONS vnni
namespace keras_transformer::KT_INSTRUCTIONS {

// Adds to each token's sum the products of its four bytes with four of a row.
KT_INLINE Ints multiply_add(Ints sums, const uint8_t* states, const int8_t* weights) {
  int32_t four;
  std::memcpy(&four, states, sizeof four);
  const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(weights));
  return (Ints)_mm256_dpbusd_epi32((__m256i)sums, _mm256_set1_epi32(four), bytes);
}

KT_INLINE Words widen(const int8_t* weights) {
  return (Words)_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(weights)));
}

// Adds to each output's sum the products of its two weights with two of a row.
KT_INLINE Ints multiply_add(Ints sums, const int16_t* two, Words weights) {
  int32_t both;
  std::memcpy(&both, two, sizeof both);
  return (Ints)_mm256_dpwssd_epi32((__m256i)sums, _mm256_set1_epi32(both), (__m256i)weights);
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "linear_tiles.h"
#include "screen_search.h"
// What templates are made into at the end of the file is for every processor.
#pragma GCC pop_options
#endif
