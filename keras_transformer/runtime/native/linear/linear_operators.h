// The operators of the domain keras_transformer that are linear layers. Values are row-major.
#pragma once

#include <vector>

#include "bfloat16_layer.h"
#include "bytes_layer.h"
#include "float32_layer.h"
#include "int4_layer.h"
#include "operator.h"

namespace keras_transformer {

// values (rows, width), weights and what each output ends with, both as in `BytesLayer`,
// `Bfloat16Layer`, `Int4Layer` or `Float32Layer` → values · weights + bias (rows, outputs), through ReLU if asked.
template <typename Layer>
class LinearOperator {
 public:
  static constexpr const char* kName = Layer::kOperator;
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, Layer::kWeights, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit LinearOperator(const Node& node)
      : layer_(node, 1),
        units_(node.count("units")),
        floor_(node.attribute<int64_t>("relu") ? kRelu : kLinear) {}

  void compute(Context& context) const {
    const Shape shape = context.shape(0, "values", 2);
    const int64_t rows = shape[0], width = shape[1];
    layer_.check_sizes(width, units_);
    const float* values = context.input<float>(0);
    float* output = context.output<float>(0, {rows, units_});
    layer_.run(context, values, rows, width, units_, floor_, output);
  }

 private:
  Layer layer_;
  int64_t units_;
  float floor_;
};

using BytesLinear = LinearOperator<BytesLayer>;
using Bfloat16Linear = LinearOperator<Bfloat16Layer>;
using Int4Linear = LinearOperator<Int4Layer>;
using Float32Linear = LinearOperator<Float32Layer>;

template <>
LinearOperator<BytesLayer>::LinearOperator(const Node& node);
template <>
LinearOperator<Float32Layer>::LinearOperator(const Node& node);

// values (rows, width) → bytes (rows, width) and scales (rows, 1): value = (byte - middle) · scale;
// the middle is 128, or 0 if no value is negative.
class QuantizeRows {
 public:
  static constexpr const char* kName = "QuantizeRows";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kUint8, ort::kFloat};
  static constexpr size_t kRequiredInputs = 1;
  explicit QuantizeRows(const Node& node);
  void compute(Context& context) const;

 private:
  int64_t middle_;
};

// sums (rows, width), scales (width) and of rows (rows, 1), and a bias (width) or none → sums · scales
// + bias (rows, width), through ReLU if asked.
class ScaleSums {
 public:
  static constexpr const char* kName = "ScaleSums";
  static constexpr ort::ElementType kInputs[] = {ort::kInt32, ort::kFloat, ort::kFloat,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit ScaleSums(const Node& node);
  void compute(Context& context) const;

 private:
  Constant<float> scales_;
  std::vector<float> bias_;
  bool is_bias_stored_;
  float floor_;
};

}  // namespace keras_transformer
