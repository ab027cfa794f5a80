// The outputs of an int8 product: its sums times the scale of each output and of each row.
#include "operators.h"
#include "vectors.h"

namespace keras_transformer {
namespace {

KT_CLONES void scale(const int32_t* sums, const float* scales, const float* of_rows, int64_t rows,
                     int64_t width, float* output) {
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t start = row * width;
    for (int64_t i = 0; i < width; ++i) {
      output[start + i] = static_cast<float>(sums[start + i]) * scales[i] * of_rows[row];
    }
  }
}

}  // namespace

void ScaleSums::compute(Context& context) const {
  const Shape shape = context.shape(0);
  const int64_t rows = shape[0], width = scales_.shape[0];
  check_shape("sums", shape, {rows, width});
  const int32_t* sums = context.input<int32_t>(0);
  const float* of_rows = context.input<float>(2, "row scales", {rows, 1});
  float* output = context.output<float>(0, {rows, width});
  context.parallel_for(rows, 0.2 * width, [&](int64_t first, int64_t last) {
    const int64_t start = first * width;
    scale(sums + start, scales_.data, of_rows + first, last - first, width, output + start);
  });
}

}  // namespace keras_transformer
