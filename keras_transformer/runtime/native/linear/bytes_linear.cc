// A linear layer with weights in bytes: its inputs are rounded to words, row by row.
#include <algorithm>
#include <vector>

#include "operators.h"
#include "quantize.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// The largest word whose products with bytes of at most ±127 have sums that fit into 31 bits.
float largest_word(int64_t width) {
  return static_cast<float>(std::min<int64_t>(INT16_MAX, INT32_MAX / (INT8_MAX * width)));
}

// The last of an odd number of inputs is followed by a zero.
KT_INLINE void quantize(const float* values, int64_t rows, int64_t width, int64_t stride,
                        int16_t* words, float* steps) {
  const float most = largest_word(width);
  for (int64_t row = 0; row < rows; ++row) {
    steps[row] = quantize_row(values + row * width, width, most, words + row * stride);
    if (stride > width) words[row * stride + width] = 0;
  }
}

}  // namespace

void BytesLayer::run(const float* values, int64_t rows, int64_t inputs, int64_t outputs,
                     float floor, float* output) const {
  static const Multiply multiply = KT_FASTEST(multiply);
  static thread_local std::vector<int16_t> words;
  const int64_t pairs = bytes_.shape[1], stride = pairs * kPair;
  if (words.size() < static_cast<size_t>(rows * stride)) words.resize(rows * stride);
  float steps[kMostRows];
  fastest<quantize>(values, rows, inputs, stride, words.data(), steps);
  multiply({pairs, outputs, bytes_.data, ends_, floor}, words.data(), steps, rows, output);
}

void BytesLinear::compute(Context& context) const {
  const Shape shape = context.shape(0, "values", 2);
  const int64_t rows = shape[0], width = shape[1];
  layer_.check_sizes(width, units_);
  const float* values = context.input<float>(0);
  float* output = context.output<float>(0, {rows, units_});
  for_few_rows(context, rows, layer_.cost(), [&](int64_t row, int64_t count) {
    layer_.run(values + row * width, count, width, units_, floor_, output + row * units_);
  });
}

}  // namespace keras_transformer
