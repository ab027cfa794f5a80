// A linear layer with weights in bfloat16, as stored in a node.
#pragma once

#include "bfloat16.h"
#include "linear_layer.h"

namespace keras_transformer {

// Throws if packed weights do not have this many inputs and outputs.
void check_packed(const Shape& found, int64_t inputs, int64_t outputs);

class Bfloat16Layer final : public LinearLayer {
 public:
  static constexpr const char* kOperator = "Bfloat16Linear";
  static constexpr ort::ElementType kWeights = ort::kBfloat16;

  // Reads the weights (blocks, pairs, 16, 2) and each output's bias (blocks, 16).
  Bfloat16Layer(const Node& node, size_t place);

  void check_sizes(int64_t inputs, int64_t outputs) const override {
    check_packed(weights_.shape, inputs, outputs);
  }
  double cost() const override;
  int64_t least_rows() const override { return kMostRows; }
  void run(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
           float* output) const override;
  void run(Context& context, const float* values, int64_t rows, int64_t inputs, int64_t outputs,
           float floor, float* output) const override;

 private:
  Bfloat16Matrix matrix(int64_t outputs) const {
    return {weights_.shape[1], outputs, weights_.data, biases_};
  }

  Constant<uint16_t> weights_;
  const float* biases_;
};

}  // namespace keras_transformer
