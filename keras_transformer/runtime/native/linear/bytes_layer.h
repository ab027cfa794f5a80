// A linear layer with weights in bytes, as stored in a node; `linear.h` says how it is multiplied.
#pragma once

#include <limits>

#include "linear.h"
#include "operator.h"

namespace keras_transformer {

// The floor that outputs are raised to.
constexpr float kRelu = 0.0f, kLinear = -std::numeric_limits<float>::infinity();

class BytesLayer {
 public:
  // Rows that are multiplied by some of the weights before the next, so that they stay in the first
  // cache.
  static constexpr int64_t kMostRows = 32;

  // Reads the weights (blocks, pairs, 16, 2) and each output's scale and bias (blocks, 2, 16).
  BytesLayer(const Node& node, size_t place)
      : bytes_(node.constant<int8_t>(place, "bytes", 4)),
        ends_(node.constant<float>(place + 1, "ends", {bytes_.shape[0], 2, kBlock})) {}

  // Throws if the weights do not have this many inputs and outputs.
  void check_sizes(int64_t inputs, int64_t outputs) const {
    check_positive("inputs", inputs);
    check_positive("outputs", outputs);
    const int64_t blocks = (outputs + kBlock - 1) / kBlock, pairs = (inputs + kPair - 1) / kPair;
    check_shape("bytes", bytes_.shape, {blocks, pairs, kBlock, kPair});
  }

  // Nanoseconds that a row takes.
  double cost() const { return bytes_.shape[0] * bytes_.shape[1] * kBlock * kPair / 50.0; }

  // values (rows, inputs) → output (rows, outputs), for up to `kMostRows` rows.
  void run(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
           float* output) const;

 private:
  Constant<int8_t> bytes_;
  const float* ends_;
};

// Calls `work(row, count)` for groups of at most `BytesLayer::kMostRows` rows, as
// `Context::parallel_for` does for ranges.
template <typename Work>
void for_few_rows(Context& context, int64_t rows, double each, const Work& work) {
  context.parallel_for(rows, each, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; row += BytesLayer::kMostRows) {
      work(row, std::min(BytesLayer::kMostRows, last - row));
    }
  });
}

}  // namespace keras_transformer
