// Rounds rows to bytes for int8 products, with a scale for each row, so that no row's result
// depends on the others.
#include "linear_operators.h"
#include "quantize.h"
#include "versions.h"

namespace keras_transformer {
namespace {

KT_INLINE void quantize(const float* values, int64_t rows, int64_t width, float middle,
                        uint8_t* bytes, float* scales) {
  for (int64_t row = 0; row < rows; ++row) {
    scales[row] = quantize_row(values + row * width, width, middle, bytes + row * width);
  }
}

}  // namespace

QuantizeRows::QuantizeRows(const Node& node) : middle_(node.attribute<int64_t>("middle")) {
  if (middle_ == 0 || middle_ == 128) return;
  throw std::invalid_argument("middle must be 0 or 128, got " + std::to_string(middle_));
}

void QuantizeRows::compute(Context& context) const {
  const Shape shape = context.shape(0, "values", 2);
  const int64_t rows = shape[0], width = check_positive("width", shape[1]);
  const float* values = context.input<float>(0);
  uint8_t* bytes = context.output<uint8_t>(0, {rows, width});
  float* scales = context.output<float>(1, {rows, 1});
  context.parallel_for(rows, 0.2 * width, [&](int64_t first, int64_t last) {
    const int64_t start = first * width;
    fastest<quantize>(values + start, last - first, width, static_cast<float>(middle_),
                      bytes + start, scales + first);
  });
}

}  // namespace keras_transformer
