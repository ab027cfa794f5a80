// The place of each row's largest value; the first place wins a tie.
#include <string>

#include "ranking_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// -1 if one is NaN.
KT_INLINE int32_t place_of_largest(const float* values, int64_t width) {
  Floats tops = all(values[0]);
  Ints is_nan{};
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) {
    const Floats found = load(values + i);
    tops = larger(found, tops);
    is_nan |= found != found;
  }
  if (any(is_nan)) return -1;
  float top = largest(tops);
  for (; i < width; ++i) {
    if (values[i] != values[i]) return -1;
    top = values[i] > top ? values[i] : top;
  }
  for (i = 0; i + 4 * kLanes <= width; i += 4 * kLanes) {
    const Ints found = (load(values + i) == top) | (load(values + i + kLanes) == top) |
                       (load(values + i + 2 * kLanes) == top) |
                       (load(values + i + 3 * kLanes) == top);
    if (any(found)) break;
  }
  for (; i < width; ++i) {
    if (values[i] == top) return static_cast<int32_t>(i);
  }
  return 0;
}

}  // namespace

void LargestPlace::compute(Context& context) const {
  const Shape shape = context.shape(0, "values", 2);
  const int64_t rows = shape[0], width = shape[1];
  check_positive("the width of values", width);
  const float* values = context.input<float>(0);
  int32_t* places = context.output<int32_t>(0, {rows});
  context.parallel_for(rows, 0.1 * width, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      places[row] = fastest<place_of_largest>(values + row * width, width);
      if (places[row] < 0) {
        throw std::invalid_argument("row " + std::to_string(row) + " holds NaN");
      }
    }
  });
}

}  // namespace keras_transformer
