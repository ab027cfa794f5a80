// Sixteen sums in two of AVX's registers, in the namespace KT_INSTRUCTIONS: what the loops of
// `byte_tiles.h` and `linear_tiles.h` need but for the products, which AVX2 and AVX-VNNI make
// otherwise.
#include <immintrin.h>

#include "vectors.h"

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

KT_INLINE Sums join(Sums a, Sums b) {
  return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
}

// Four bytes or two words, in all of a register's places.
KT_INLINE __m256i repeat(const void* from) {
  int32_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return _mm256_set1_epi32(bits);
}

using Wide = Floats;

constexpr int kLinearTall = 2, kLinearBroad = 2, kLinearLone = 2;
struct Weights {
  __m256i low, high;
};

KT_INLINE Weights widen(const int8_t* weights) {
  const __m128i* halves = reinterpret_cast<const __m128i*>(weights);
  return {_mm256_cvtepi8_epi16(_mm_loadu_si128(halves)),
          _mm256_cvtepi8_epi16(_mm_loadu_si128(halves + 1))};
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
