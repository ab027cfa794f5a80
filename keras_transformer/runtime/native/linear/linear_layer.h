// A linear layer as stored in a node: what sub-layers know of it. The type of its weights says how
// they are multiplied: in bytes, `bytes_layer.h`, in 4 bits, `int4_layer.h`, in bfloat16,
// `bfloat16_layer.h`, or in float32, `float32_layer.h`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "operator.h"

namespace keras_transformer {

// The floor that outputs are raised to.
constexpr float kRelu = 0.0f, kLinear = -std::numeric_limits<float>::infinity();

// Rows that are multiplied by some of the weights before the next, so that they stay in the first
// cache.
constexpr int64_t kMostRows = 32;

class LinearLayer {
 public:
  // Reads two inputs: the weights, and what each output ends with.
  static std::unique_ptr<const LinearLayer> read(const Node& node, size_t place);

  virtual ~LinearLayer() = default;

  // Throws if the weights do not have this many inputs and outputs.
  virtual void check_sizes(int64_t inputs, int64_t outputs) const = 0;

  // Nanoseconds that a row takes among others.
  virtual double cost() const = 0;

  // The fewest rows that are worth a thread of their own.
  virtual int64_t least_rows() const = 0;

  // values (rows, inputs) → output (rows, outputs).
  virtual void run(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
                   float* output) const = 0;

  // The same on all of onnxruntime's threads: many rows are divided, of few rows the outputs.
  virtual void run(Context& context, const float* values, int64_t rows, int64_t inputs,
                   int64_t outputs, float floor, float* output) const = 0;
};

// Calls `work(row, count)` for groups of at most kMostRows rows, as `Context::parallel_for` does for
// ranges; threads are not woken for fewer rows than `least`.
template <typename Work>
void for_few_rows(Context& context, int64_t rows, double each, int64_t least, const Work& work) {
  const int64_t groups = std::max<int64_t>(1, (rows + least - 1) / least);
  context.parallel_for(groups, each * least, [&](int64_t first, int64_t last) {
    const int64_t end = rows * last / groups;
    for (int64_t row = rows * first / groups; row < end; row += kMostRows) {
      work(row, std::min(kMostRows, end - row));
    }
  });
}

// Bytes of weights that one thread reads from memory in a nanosecond, on machines of 2023.
constexpr double kReadRate = 10;

// Nanoseconds that a few rows take, which one thread computes in `cost`: they may wait for weights.
inline double cost_with_reading(double cost, int64_t bytes) {
  return std::max(cost, static_cast<double>(bytes) / kReadRate);
}

// Calls `work(first, last)` for ranges of blocks of outputs, `part` blocks at a time, on all of
// onnxruntime's threads; `cost` is how many nanoseconds all blocks take.
template <typename Work>
void for_blocks(Context& context, int64_t blocks, int64_t part, double cost, const Work& work) {
  const int64_t chunks = (blocks + part - 1) / part;
  context.parallel_for(chunks, cost / chunks, [&](int64_t first, int64_t last) {
    work(first * part, std::min(blocks, last * part));
  });
}

}  // namespace keras_transformer
