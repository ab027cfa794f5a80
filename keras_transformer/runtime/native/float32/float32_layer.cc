// A linear layer in float32: its weights are put in order once, when the graph is loaded.
#include "float32_layer.h"

#include <algorithm>
#include <string>

#include "linear_operators.h"

namespace keras_transformer {
namespace {

// Blocks of one thread's part of the outputs.
constexpr int64_t kPart = 8;
// Floats of a line of the cache, and of a page: numbers a page apart share a place in the first cache.
constexpr int64_t kLine = 16, kPage = 1024;

// Puts weights (inputs, outputs) or (outputs, inputs) in blocks (blocks, inputs, 16), filled up with
// zeros.
void pack(const float* weights, int64_t inputs, int64_t outputs, bool is_transposed,
          float* packed) {
  const int64_t of_input = is_transposed ? 1 : outputs, of_output = is_transposed ? inputs : 1;
  for (int64_t block = 0; block < outputs; block += kBlock) {
    const int64_t count = std::min<int64_t>(kBlock, outputs - block);
    for (int64_t i = 0; i < inputs; ++i, packed += kBlock) {
      const float* from = weights + i * of_input + block * of_output;
      for (int64_t o = 0; o < count; ++o) packed[o] = from[o * of_output];
    }
  }
}

}  // namespace

Float32Layer::Float32Layer(const Node& node, size_t place, bool is_transposed) {
  const Constant<float> weights = node.constant<float>(place, "weights", 2);
  inputs_ = check_positive("inputs", weights.shape[is_transposed ? 1 : 0]);
  outputs_ = check_positive("outputs", weights.shape[is_transposed ? 0 : 1]);
  const int64_t blocks = matrix().blocks();
  biases_.assign(blocks * kBlock, 0);
  if (const Constant<float> biases = node.constant<float>(place + 1); biases.data != nullptr) {
    check_shape("biases", biases.shape, {outputs_});
    std::copy_n(biases.data, outputs_, biases_.begin());
  }
  room_.assign(blocks * inputs_ * kBlock + kLine, 0);
  const auto place_of_room = reinterpret_cast<uintptr_t>(room_.data()) / sizeof(float);
  float* packed = room_.data() + (kLine - place_of_room % kLine) % kLine;
  pack(weights.data, inputs_, outputs_, is_transposed, packed);
  weights_ = packed;
}

void Float32Layer::check_sizes(int64_t inputs, int64_t outputs) const {
  check_shape("weights", {2, {inputs_, outputs_}}, {inputs, outputs});
}

// Returns rows as they are, or copies of them that do not share places in the first cache, which are
// valid until the thread's next call.
Float32Rows Float32Layer::spread(const float* values, int64_t count) const {
  Float32Rows rows{};
  rows.values = values, rows.count = count, rows.stride = inputs_;
  if (count == 1 || inputs_ % kPage != 0) return rows;
  static thread_local std::vector<float> room;
  rows.stride = inputs_ + kLine;
  if (room.size() < static_cast<size_t>(count * rows.stride)) room.resize(count * rows.stride);
  for (int64_t row = 0; row < count; ++row) {
    std::copy_n(values + row * inputs_, inputs_, room.data() + row * rows.stride);
  }
  rows.values = room.data();
  return rows;
}

void Float32Layer::multiply(int64_t first, int64_t last, const float* values, int64_t count,
                            float floor, float* output, int64_t stride) const {
  static const MultiplyFloat32 multiply = KT_FASTEST(multiply_float32);
  for (int64_t row = 0; row < count; row += kMostRows) {
    Float32Rows rows = spread(values + row * inputs_, std::min(kMostRows, count - row));
    rows.output = output + row * stride, rows.output_stride = stride, rows.floor = floor;
    multiply(matrix(), first, last, rows);
  }
}

void Float32Layer::run(const float* values, int64_t rows, int64_t, int64_t, float floor,
                       float* output) const {
  multiply(0, matrix().blocks(), values, rows, floor, output, outputs_);
}

void Float32Layer::run(Context& context, const float* values, int64_t rows, int64_t, int64_t,
                       float floor, float* output) const {
  if (rows > kMostRows) {
    return for_few_rows(context, rows, cost(), least_rows(), [&](int64_t row, int64_t count) {
      run(values + row * inputs_, count, inputs_, outputs_, floor, output + row * outputs_);
    });
  }
  const int64_t bytes = matrix().blocks() * kBlock * inputs_ * sizeof(float);
  const double cost = cost_with_reading(this->cost() * rows, bytes);
  for_blocks(context, matrix().blocks(), kPart, cost, [&](int64_t first, int64_t last) {
    multiply(first, last, values, rows, floor, output + first * kBlock, outputs_);
  });
}

template <>
LinearOperator<Float32Layer>::LinearOperator(const Node& node)
    : layer_(node, 1, node.attribute<int64_t>("transposed")),
      units_(node.count("units")),
      floor_(node.attribute<int64_t>("relu") ? kRelu : kLinear) {}

}  // namespace keras_transformer
