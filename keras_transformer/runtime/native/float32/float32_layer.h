// A linear layer with weights in float32, as stored in a node.
#pragma once

#include <vector>

#include "float32.h"
#include "linear_layer.h"

namespace keras_transformer {

class Float32Layer final : public LinearLayer {
 public:
  static constexpr const char* kOperator = "Float32Linear";
  static constexpr ort::ElementType kWeights = ort::kFloat;

  // Reads the weights (inputs, outputs), or transposed (outputs, inputs), and each output's bias
  // (outputs), which may be left out.
  Float32Layer(const Node& node, size_t place, bool is_transposed = false);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }

  void check_sizes(int64_t inputs, int64_t outputs) const override;
  double cost() const override { return static_cast<double>(inputs_ * outputs_) / 50; }
  int64_t least_rows() const override { return kMostRows; }
  void run(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
           float* output) const override;
  void run(Context& context, const float* values, int64_t rows, int64_t inputs, int64_t outputs,
           float floor, float* output) const override;

  // Multiplies rows (count, inputs) by the blocks from `first` to `last`; `output` is where the first
  // row's begin, and `stride` how many numbers lie from one row's to the next.
  void multiply(int64_t first, int64_t last, const float* values, int64_t count, float floor,
                float* output, int64_t stride) const;

 private:
  Float32Matrix matrix() const { return {inputs_, outputs_, weights_, biases_.data()}; }
  Float32Rows spread(const float* values, int64_t count) const;

  int64_t inputs_ = 0, outputs_ = 0;
  std::vector<float> room_, biases_;
  const float* weights_ = nullptr;  // In the room, where lines of the cache begin.
};

}  // namespace keras_transformer
