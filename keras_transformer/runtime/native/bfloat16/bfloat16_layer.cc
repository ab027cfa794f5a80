// A linear layer in bfloat16: its inputs are rounded row by row and multiplied, on one thread or on
// all.
#include "bfloat16_layer.h"

#include <algorithm>
#include <vector>

#include "linear_operators.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// Blocks of one thread's part of the outputs.
constexpr int64_t kPart = 16;

KT_INLINE void round(const float* values, int64_t rows, int64_t width, int64_t stride,
                     uint16_t* rounded) {
  for (int64_t row = 0; row < rows; ++row, values += width, rounded += stride) {
    for (int64_t i = 0; i < width; ++i) rounded[i] = to_bfloat16(values[i]);
    std::fill(rounded + width, rounded + stride, uint16_t{0});
  }
}

// Rounds rows to rows of a stride, with room for whole tiles; they are valid until the thread's next
// call.
const uint16_t* rounded_rows(const float* values, int64_t rows, int64_t width, int64_t stride) {
  static thread_local std::vector<uint16_t> rounded;
  const int64_t room = (rows + kRowsOfTile - 1) / kRowsOfTile * kRowsOfTile * stride;
  if (rounded.size() < static_cast<size_t>(room)) rounded.resize(room);
  fastest<round>(values, rows, width, stride, rounded.data());
  return rounded.data();
}

KT_INLINE void raise(float* output, int64_t rows, int64_t count, int64_t stride, float floor) {
  for (int64_t row = 0; row < rows; ++row, output += stride) {
    for (int64_t i = 0; i < count; ++i) output[i] = output[i] < floor ? floor : output[i];
  }
}

// Multiplies rounded rows by the blocks from `first` to `last`; NaN stays.
void multiply_blocks(const Bfloat16Matrix& matrix, int64_t first, int64_t last,
                     const uint16_t* rounded, int64_t rows, float floor, float* output) {
  static const MultiplyBfloat16 multiply = fastest_multiply_bfloat16();
  multiply(matrix, first, last, rounded, rows, output);
  if (floor == kLinear) return;
  const int64_t start = first * kBlock, end = std::min(last * kBlock, matrix.outputs);
  fastest<raise>(output + start, rows, end - start, matrix.outputs, floor);
}

}  // namespace

void check_packed(const Shape& found, int64_t inputs, int64_t outputs) {
  check_positive("inputs", inputs);
  check_positive("outputs", outputs);
  const int64_t blocks = (outputs + kBlock - 1) / kBlock;
  const int64_t pairs = (inputs + kPair * kPairs - 1) / (kPair * kPairs) * kPairs;
  check_shape("weights", found, {blocks, pairs, kBlock, kPair});
}

Bfloat16Layer::Bfloat16Layer(const Node& node, size_t place)
    : weights_(node.constant<uint16_t>(place, "weights", 4)),
      biases_(node.constant<float>(place + 1, "biases", {weights_.shape[0], kBlock})) {}

double Bfloat16Layer::cost() const {
  return static_cast<double>(weights_.shape[0] * weights_.shape[1] * kPair * kBlock) / 150;
}

void Bfloat16Layer::run(const float* values, int64_t rows, int64_t inputs, int64_t outputs,
                        float floor, float* output) const {
  const Bfloat16Matrix m = matrix(outputs);
  const uint16_t* rounded = rounded_rows(values, rows, inputs, m.width());
  multiply_blocks(m, 0, weights_.shape[0], rounded, rows, floor, output);
}

void Bfloat16Layer::run(Context& context, const float* values, int64_t rows, int64_t inputs,
                        int64_t outputs, float floor, float* output) const {
  if (rows > kMostRows) {
    return for_few_rows(context, rows, cost(), least_rows(), [&](int64_t row, int64_t count) {
      run(values + row * inputs, count, inputs, outputs, floor, output + row * outputs);
    });
  }
  const Bfloat16Matrix m = matrix(outputs);
  const uint16_t* rounded = rounded_rows(values, rows, inputs, m.width());
  const int64_t bytes = weights_.shape[0] * m.pairs * kPair * kBlock * sizeof(uint16_t);
  const double cost = cost_with_reading(this->cost() * rows, bytes);
  for_blocks(context, weights_.shape[0], kPart, cost, [&](int64_t first, int64_t last) {
    multiply_blocks(m, first, last, rounded, rows, floor, output);
  });
}

}  // namespace keras_transformer
