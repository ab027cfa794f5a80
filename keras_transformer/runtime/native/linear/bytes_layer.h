// A linear layer with weights in bytes, as stored in a node. The shape of the weights says what its
// inputs are rounded to: words, `linear.h`, or bytes too, `byte_products.h`.
#pragma once

#include <vector>

#include "byte_products.h"
#include "linear.h"
#include "linear_layer.h"

namespace keras_transformer {

class BytesLayer final : public LinearLayer {
 public:
  static constexpr const char* kOperator = "BytesLinear";
  static constexpr ort::ElementType kWeights = ort::kInt8;
  static_assert(kMostRows == kGroup);

  // Reads the weights, (blocks, pairs, 16, 2) or (blocks, quads, 16, 4), and each output's scale and
  // bias (blocks, 2, 16). Without offsets, inputs in bytes are rounded as the operators that rank a
  // vocabulary round them, so that logits are the same.
  BytesLayer(const Node& node, size_t place, bool has_offsets = true);

  void check_sizes(int64_t inputs, int64_t outputs) const override;
  double cost() const override;
  int64_t least_rows() const override { return rounds_to_bytes() ? kMostRows : 4; }
  void run(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
           float* output) const override;
  void run(Context& context, const float* values, int64_t rows, int64_t inputs, int64_t outputs,
           float floor, float* output) const override;

 private:
  bool rounds_to_bytes() const { return bytes_.shape[3] == kBytes; }

  void run_words(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
                 float* output) const;

  Constant<int8_t> bytes_;
  const float* ends_;
  bool has_offsets_;
  std::vector<int32_t> zeros_, sums_;  // (blocks, 16): 0, and the sum of each output's weights
};

}  // namespace keras_transformer
