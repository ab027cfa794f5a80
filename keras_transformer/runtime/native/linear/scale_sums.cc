// The outputs of an int8 layer: a product's sums times the scales of each output and of each row,
// then bias and ReLU.
#include <vector>

#include "linear_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

KT_INLINE void scale(const int32_t* sums, const float* scales, const float* bias, float of_row,
                     float floor, int64_t width, float* output) {
  for (int64_t i = 0; i < width; ++i) {
    const float value = static_cast<float>(sums[i]) * (scales[i] * of_row) + bias[i];
    output[i] = value < floor ? floor : value;  // NaN stays.
  }
}

}  // namespace

ScaleSums::ScaleSums(const Node& node)
    : scales_(node.constant<float>(1, "scales", 1)),
      floor_(node.attribute<int64_t>("relu") ? kRelu : kLinear) {
  const Constant<float> bias = node.constant<float>(3);
  is_bias_stored_ = bias.data != nullptr;
  bias_.assign(scales_.shape[0], 0.0f);
  if (bias.data == nullptr) return;
  check_shape("bias", bias.shape, {scales_.shape[0]});
  bias_.assign(bias.data, bias.data + scales_.shape[0]);
}

void ScaleSums::compute(Context& context) const {
  if (!is_bias_stored_ && context.has_input(3)) {
    throw std::invalid_argument("bias must be stored in the graph");
  }
  const Shape shape = context.shape(0);
  const int64_t rows = shape[0], width = scales_.shape[0];
  check_shape("sums", shape, {rows, width});
  const int32_t* sums = context.input<int32_t>(0);
  const float* of_rows = context.input<float>(2, "row scales", {rows, 1});
  float* output = context.output<float>(0, {rows, width});
  context.parallel_for(rows, 0.2 * width, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      fastest<scale>(sums + row * width, scales_.data, bias_.data(), of_rows[row], floor_, width,
                     output + row * width);
    }
  });
}

}  // namespace keras_transformer
