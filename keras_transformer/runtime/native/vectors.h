// Eight numbers at a time, or sixteen, in the compiler's vector types: code that runs on every
// processor and that `versions.h` compiles several times, for those with wider registers.
#pragma once

#include <cstdint>
#include <cstring>

#define KT_INLINE inline __attribute__((always_inline))
#define KT_INLINE_LAMBDA __attribute__((always_inline))

namespace keras_transformer {

constexpr int kLanes = 8;
typedef float Floats __attribute__((vector_size(32)));
typedef float Wide __attribute__((vector_size(64)));  // What pays where a register holds it.
typedef float Halves __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(32)));
typedef uint8_t Bytes __attribute__((vector_size(8)));

template <typename Vector>
inline constexpr int64_t kLanesOf = sizeof(Vector) / sizeof(float);

template <typename Vector = Floats>
KT_INLINE Vector load(const float* from) {
  Vector values;
  std::memcpy(&values, from, sizeof values);
  return values;
}

template <typename Vector>
KT_INLINE void store(float* to, Vector values) {
  std::memcpy(to, &values, sizeof values);
}

// The first `count` of eight; the others are 0, or are not stored.
template <typename Vector = Floats>
KT_INLINE Vector load_some(const float* from, int64_t count) {
  Vector values{};
  std::memcpy(&values, from, count * sizeof(float));
  return values;
}

template <typename Vector>
KT_INLINE void store_some(float* to, Vector values, int64_t count) {
  std::memcpy(to, &values, count * sizeof(float));
}

// Not for loops: multiplying by the number itself is faster than by this, which GCC builds of parts.
template <typename Vector = Floats>
KT_INLINE Vector all(float value) {
  return value - Vector{};
}

KT_INLINE float sum(Floats v) {
  Halves h = __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
  h += __builtin_shufflevector(h, h, 2, 3, 0, 1);
  return h[0] + h[1];
}

KT_INLINE Floats low(Wide v) { return __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7); }
KT_INLINE Floats high(Wide v) { return __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15); }
KT_INLINE float sum(Wide v) { return sum(low(v) + high(v)); }

// Whether a comparison holds in any lane.
KT_INLINE bool any(Ints mask) {
#ifdef KT_AVX  // Defined by files that choose such instructions: GCC does not tell in C++.
  return !_mm256_testz_si256((__m256i)mask, (__m256i)mask);
#else
  const Ints none{};
  return std::memcmp(&mask, &none, sizeof mask) != 0;
#endif
}

template <typename Vector>
KT_INLINE Vector larger(Vector a, Vector b) {
  return a > b ? a : b;
}

KT_INLINE float largest(Floats v) {
  float found = v[0];
  for (int lane = 1; lane < kLanes; ++lane) found = v[lane] > found ? v[lane] : found;
  return found;
}

KT_INLINE float largest(Wide v) { return largest(larger(low(v), high(v))); }

// What rounding needs to know of a row: its largest absolute value, NaN if one is NaN, and whether any
// value has the sign of negative numbers.
struct Sizes {
  float largest;
  bool has_sign;
};

// Numbers without their signs are ordered as their bits are as integers, with infinity after them and
// NaN last.
KT_INLINE Sizes sizes_of(const float* values, int64_t width) {
  constexpr int32_t kNoSign = 0x7fffffff;
  Ints tops{}, more{}, signs{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= width; i += 2 * kLanes) {
    const Ints bits = (Ints)load(values + i), others = (Ints)load(values + i + kLanes);
    signs |= bits | others;
    tops = (bits & kNoSign) > tops ? (bits & kNoSign) : tops;
    more = (others & kNoSign) > more ? (others & kNoSign) : more;
  }
  tops = tops > more ? tops : more;
  int32_t top = 0, sign = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    top = tops[lane] > top ? tops[lane] : top;
    sign |= signs[lane];
  }
  for (; i < width; ++i) {
    int32_t bits;
    std::memcpy(&bits, values + i, sizeof bits);
    sign |= bits;
    bits &= kNoSign;
    top = bits > top ? bits : top;
  }
  Sizes sizes{0, sign < 0};
  std::memcpy(&sizes.largest, &top, sizeof top);
  return sizes;
}

KT_INLINE float largest_size(const float* values, int64_t width) {
  return sizes_of(values, width).largest;
}

// e to the power of values of at most 0, to two units in the last place; 0 below -87, and NaN of NaN.
// Of vectors of any length.
template <typename Vector>
KT_INLINE Vector exp_of_negative(Vector x) {
  using Integers = decltype(x < x);
  constexpr float kLowest = -87.0f;
  const Integers is_zero = x < kLowest;
  x = is_zero ? Vector{} + kLowest : x;
  // x = n ln 2 + r with |r| ≤ ln 2 / 2: eˣ = 2ⁿ eʳ. Adding 1.5 · 2²³ rounds to the nearest integer.
  const Vector shift = Vector{} + 12582912.0f;
  const Vector shifted = x * 1.44269504f + shift;
  const Vector n = shifted - shift;
  const Vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.0f;
  const Integers exponent = ((Integers)shifted - (Integers)shift + 127) << 23;
  return is_zero ? Vector{} : p * (Vector)exponent;
}

// The inner product of two rows; the order of its additions depends only on their width.
KT_INLINE float dot(const float* a, const float* b, int64_t width) {
  Floats even{}, odd{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= width; i += 2 * kLanes) {
    even += load(a + i) * load(b + i);
    odd += load(a + i + kLanes) * load(b + i + kLanes);
  }
  if (i + kLanes <= width) {
    even += load(a + i) * load(b + i);
    i += kLanes;
  }
  float total = sum(even + odd);
  for (; i < width; ++i) total += a[i] * b[i];
  return total;
}

}  // namespace keras_transformer
