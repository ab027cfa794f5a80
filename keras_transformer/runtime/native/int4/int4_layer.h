// A linear layer with weights in 4 bits, as stored in a node.
#pragma once

#include "int4.h"
#include "linear_layer.h"

namespace keras_transformer {

// Weights (blocks, groups, lines, 16), of which the lines say the size of a group and whether there are
// zero points: see `Int4Matrix`.
class Int4Weights {
 public:
  Int4Weights(const Node& node, size_t place);

  // Throws if they do not have this many inputs and outputs.
  void check_sizes(int64_t inputs, int64_t outputs) const;

  const Shape& shape() const { return bytes_.shape; }
  int64_t group_size() const { return octets_ * kOctet; }
  Int4Matrix matrix(int64_t outputs, const float* biases, float floor) const {
    return {bytes_.shape[1], octets_, outputs, has_zeros_, bytes_.data, biases, floor};
  }

 private:
  Constant<uint8_t> bytes_;
  bool has_zeros_;
  int64_t octets_;
};

class Int4Layer final : public LinearLayer {
 public:
  static constexpr const char* kOperator = "Int4Linear";
  static constexpr ort::ElementType kWeights = ort::kUint8;

  // Reads the weights and each output's bias (blocks, 16).
  Int4Layer(const Node& node, size_t place)
      : weights_(node, place),
        biases_(node.constant<float>(place + 1, "biases", {weights_.shape()[0], kBlock})) {}

  void check_sizes(int64_t inputs, int64_t outputs) const override {
    weights_.check_sizes(inputs, outputs);
  }
  double cost() const override;
  int64_t least_rows() const override { return kMostRows; }
  void run(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
           float* output) const override;
  void run(Context& context, const float* values, int64_t rows, int64_t inputs, int64_t outputs,
           float floor, float* output) const override;

 private:
  Int4Weights weights_;
  const float* biases_;
};

}  // namespace keras_transformer
