// Rows in bytes, which int8 products multiply: with a scale for each row, so that no row's result
// depends on the others.
#include "operators.h"
#include "vectors.h"

namespace keras_transformer {
namespace {

KT_CLONES void quantize(const float* values, int64_t rows, int64_t width, float middle,
                        uint8_t* bytes, float* scales) {
  const float most = middle > 0 ? 127.0f : 255.0f;
  for (int64_t row = 0; row < rows; ++row, values += width, bytes += width) {
    const float top = largest_size(values, width);
    scales[row] = top / most;
    const float factor = top > 0 ? most / top : 0.0f;
    for (int64_t i = 0; i < width; ++i) {
      bytes[i] = static_cast<uint8_t>(static_cast<int32_t>(values[i] * factor + (middle + 0.5f)));
    }
  }
}

}  // namespace

void QuantizeRows::compute(Context& context) const {
  const Shape shape = context.shape(0);
  const int64_t rows = shape[0], width = shape[1];
  const float* values = context.input<float>(0);
  uint8_t* bytes = context.output<uint8_t>(0, {rows, width});
  float* scales = context.output<float>(1, {rows, 1});
  context.parallel_for(rows, 0.2 * width, [&](int64_t first, int64_t last) {
    const int64_t start = first * width;
    quantize(values + start, last - first, width, static_cast<float>(middle_), bytes + start,
             scales + first);
  });
}

}  // namespace keras_transformer
