// Where the largest value of each row is, the first of equal ones.
#include "operators.h"
#include "vectors.h"

namespace keras_transformer {
namespace {

KT_CLONES int32_t place_of_largest(const float* values, int64_t width) {
  Floats tops = all(values[0]);
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) tops = larger(load(values + i), tops);
  float top = largest(tops);
  for (; i < width; ++i) top = values[i] > top ? values[i] : top;
  for (i = 0; i + 4 * kLanes <= width; i += 4 * kLanes) {
    const Ints found = (load(values + i) == all(top)) | (load(values + i + kLanes) == all(top)) |
                       (load(values + i + 2 * kLanes) == all(top)) |
                       (load(values + i + 3 * kLanes) == all(top));
    if (any(found)) break;
  }
  for (; i < width; ++i) {
    if (values[i] == top) return static_cast<int32_t>(i);
  }
  return 0;
}

}  // namespace

void LargestPlace::compute(Context& context) const {
  const Shape shape = context.shape(0);
  const int64_t rows = shape[0], width = shape[1];
  const float* values = context.input<float>(0);
  int32_t* places = context.output<int32_t>(0, {rows});
  context.parallel_for(rows, 0.1 * width, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      places[row] = place_of_largest(values + row * width, width);
    }
  });
}

}  // namespace keras_transformer
