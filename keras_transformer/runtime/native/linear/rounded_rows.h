// Rows rounded to bytes for `BytesLinear`, each with a step and an offset of its own: its bytes reach
// from its least value to its largest, so that of a row whose values lie mostly on one side of
// zero the step is up to half that of a symmetric one. A value far beyond all others would make these
// coarse; it stays apart, in float32 (as Dettmers et al. 2022 do in LLM.int8, with whole features).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "byte_products.h"
#include "linear_layer.h"
#include "vectors.h"

namespace keras_transformer {

struct RoundedRow {
  float step;
  int32_t middle;  // The byte of zero.
  // The value that is apart, and the inputs that have it: value = step · (byte - middle) + apart. A
  // unit may stand in a layer several times.
  float apart;
  int32_t count;
  int32_t places[8];
};

struct RoundedRows {
  std::vector<uint8_t> bytes;  // (rows, stride)
  RoundedRow each[kMostRows];
};

// The largest of some values and of 0, and the next smaller one.
struct Tops {
  float largest, next;
};

typedef int32_t WideInts __attribute__((vector_size(64)));
typedef uint8_t WideBytes __attribute__((vector_size(16)));

template <typename Vector>
using BytesOf = std::conditional_t<kLanesOf<Vector> == kLanes, Bytes, WideBytes>;

// Each lane's tops, of values or of their negatives.
template <typename Vector>
struct LaneTops {
  Vector largest{}, next{};

  KT_INLINE void see(Vector v) {
    const Vector passed = v > largest ? largest : next, less = v < largest ? v : passed;
    next = less > next ? less : next;
    largest = v > largest ? v : largest;
  }

  KT_INLINE Tops tops() const {
    const float top = keras_transformer::largest(largest);
    return {top, keras_transformer::largest(largest == top ? next : largest)};
  }
};

// A value is apart if the others then have a step smaller by this factor.
constexpr float kFarBeyond = 1.25f;

// Calls `use(place, vector)` for all of a row, which zeros fill up.
template <typename Vector, typename Use>
KT_INLINE void for_vectors(const float* values, int64_t width, const Use& use) {
  constexpr int64_t kStep = kLanesOf<Vector>;
  const int64_t whole = width / kStep * kStep;
  for (int64_t i = 0; i < whole; i += kStep) use(i, load<Vector>(values + i));
  if (whole < width) use(whole, load_some<Vector>(values + whole, width - whole));
}

// Sets where a row has a value, unless more places than there is room for have it.
template <typename Vector>
KT_INLINE bool find(const float* values, int64_t width, float value, RoundedRow& row) {
  constexpr int64_t kStep = 4 * kLanesOf<Vector>;
  const int64_t whole = width / kStep * kStep;
  const auto all_of = [&](int64_t first, int64_t last) KT_INLINE_LAMBDA {
    for (int64_t i = first; i < last; ++i) {
      if (values[i] != value) continue;
      if (row.count == static_cast<int32_t>(std::size(row.places))) return false;
      row.places[row.count++] = static_cast<int32_t>(i);
    }
    return true;
  };
  row.count = 0;
  for (int64_t i = 0; i < whole; i += kStep) {
    Vector hits{};
    for (int64_t n = i; n < i + kStep; n += kLanesOf<Vector>) {
      hits += load<Vector>(values + n) == value ? Vector{} + 1.0f : Vector{};
    }
    if (sum(hits) > 0.0f && !all_of(i, i + kStep)) return false;
  }
  return all_of(whole, width);
}

// Rounds a row to as many bytes as the next multiple of a vector's lanes; NaN or infinity in it makes
// the step NaN, and so all that follows.
template <typename Vector>
KT_INLINE void round_row(const float* values, int64_t width, uint8_t* bytes, RoundedRow& row) {
  constexpr float kMost = 255.0f;
  LaneTops<Vector> above, below;
  Vector wrong{};
  for_vectors<Vector>(values, width, [&](int64_t, Vector v) KT_INLINE_LAMBDA {
    above.see(v), below.see(-v), wrong += v * 0.0f;
  });
  row = {std::numeric_limits<float>::quiet_NaN(), 0, 0.0f, 0, {}};
  if (sum(wrong) != 0.0f) {  // NaN, too.
    std::fill(bytes, bytes + width, uint8_t{0});
    return;
  }
  Tops up = above.tops(), down = below.tops();
  const bool is_up = up.largest > down.largest;
  const float rest = is_up ? up.next + down.largest : up.largest + down.next;
  if (up.largest + down.largest > kFarBeyond * rest) {
    const float value = is_up ? up.largest : -down.largest;
    if (find<Vector>(values, width, value, row)) {
      row.apart = value;
      (is_up ? up.largest : down.largest) = is_up ? up.next : down.next;
    } else {
      row.count = 0;
    }
  }
  const float span = up.largest + down.largest, factor = span > 1e-30f ? kMost / span : 0.0f;
  row.step = span / kMost;
  row.middle = static_cast<int32_t>(down.largest * factor + 0.5f);
  const float start = static_cast<float>(row.middle) + 0.5f;
  for_vectors<Vector>(values, width, [&](int64_t i, Vector v) KT_INLINE_LAMBDA {
    v = v * factor + start;
    v = v > 0.0f ? v : Vector{};
    v = v < kMost ? v : Vector{} + kMost;
    const auto integers = __builtin_convertvector(v, decltype(v < v));
    const auto rounded = __builtin_convertvector(integers, BytesOf<Vector>);
    std::memcpy(bytes + i, &rounded, sizeof rounded);
  });
  for (int32_t n = 0; n < row.count; ++n) bytes[row.places[n]] = static_cast<uint8_t>(row.middle);
}

}  // namespace keras_transformer
