// A linear layer with weights in bytes, as stored in a node. The shape of the weights says what its
// inputs are rounded to: words, `linear.h`, or bytes too, `byte_products.h`.
#pragma once

#include <limits>
#include <vector>

#include "byte_products.h"
#include "linear.h"
#include "operator.h"

namespace keras_transformer {

// The floor that outputs are raised to.
constexpr float kRelu = 0.0f, kLinear = -std::numeric_limits<float>::infinity();

class BytesLayer {
 public:
  // Rows that are multiplied by some of the weights before the next, so that they stay in the first
  // cache.
  static constexpr int64_t kMostRows = kGroup;

  // Reads the weights, (blocks, pairs, 16, 2) or (blocks, quads, 16, 4), and each output's scale and
  // bias (blocks, 2, 16).
  BytesLayer(const Node& node, size_t place);

  // Throws if the weights do not have this many inputs and outputs.
  void check_sizes(int64_t inputs, int64_t outputs) const;

  // Nanoseconds that a row takes among others.
  double cost() const;

  // The fewest rows that are worth a thread of their own.
  int64_t least_rows() const { return rounds_to_bytes() ? kMostRows : 4; }

  // values (rows, inputs) → output (rows, outputs).
  void run(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
           float* output) const;

  // The same on all of onnxruntime's threads: many rows are divided, of few rows the outputs.
  void run(Context& context, const float* values, int64_t rows, int64_t inputs, int64_t outputs,
           float floor, float* output) const;

 private:
  bool rounds_to_bytes() const { return bytes_.shape[3] == kBytes; }

  void run_words(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
                 float* output) const;

  Constant<int8_t> bytes_;
  const float* ends_;
  std::vector<int32_t> zeros_, shifts_;  // (blocks, 16): 0, and what cancels the offset of bytes
};

// Calls `work(row, count)` for groups of at most `BytesLayer::kMostRows` rows, as
// `Context::parallel_for` does for ranges; threads are not woken for fewer rows than `least`.
template <typename Work>
void for_few_rows(Context& context, int64_t rows, double each, int64_t least, const Work& work) {
  const int64_t groups = std::max<int64_t>(1, (rows + least - 1) / least);
  context.parallel_for(groups, each * least, [&](int64_t first, int64_t last) {
    const int64_t end = rows * last / groups;
    for (int64_t row = rows * first / groups; row < end; row += BytesLayer::kMostRows) {
      work(row, std::min(BytesLayer::kMostRows, end - row));
    }
  });
}

}  // namespace keras_transformer
