// A linear layer with weights in bytes: its inputs are rounded to words or to bytes, row by row, so
// that no row's result depends on the others.
#include <algorithm>
#include <vector>

#include "linear_operators.h"
#include "quantize.h"
#include "rounded_rows.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// The byte of zero without offsets, unless no value of a row is negative.
constexpr int32_t kMiddle = 128;
// More inputs than this have sums of bytes that may not fit into 31 bits: 255 · 127 · 2¹⁶ < 2³¹.
constexpr int64_t kMostInputs = 1 << 16;

// The largest word whose products with bytes of at most ±127 have sums that fit into 31 bits.
float largest_word(int64_t width) {
  return static_cast<float>(std::min<int64_t>(INT16_MAX, INT32_MAX / (INT8_MAX * width)));
}

// The last of an odd number of inputs is followed by a zero.
KT_INLINE void to_words(const float* values, int64_t rows, int64_t width, int64_t stride,
                        int16_t* words, float* steps) {
  const float most = largest_word(width);
  for (int64_t row = 0; row < rows; ++row) {
    steps[row] = quantize_row(values + row * width, width, most, words + row * stride);
    if (stride > width) words[row * stride + width] = 0;
  }
}

// What the sums of some blocks become: the first of `outputs` outputs of each row.
struct Finish {
  const int8_t* bytes;     // (blocks, quads, 16, 4)
  const int32_t* weights;  // (blocks, 16): the sum of each output's weights
  const float* ends;       // (blocks, 2, 16): scales and biases
  float floor;
  int64_t quads, count, outputs;  // of a block; blocks, and outputs of them that there are
};

// The sums of sixteen outputs' weights of the inputs that are apart.
KT_INLINE WideInts weights_apart(const RoundedRow& row, const int8_t* block) {
  WideInts sums{};
  for (int32_t n = 0; n < row.count; ++n) {
    const int32_t quad = row.places[n] / kBytes, byte = row.places[n] % kBytes;
    WideInts four;
    std::memcpy(&four, block + quad * kTokens * kBytes, sizeof four);
    sums += four << (8 * (kBytes - 1 - byte)) >> (8 * (kBytes - 1));
  }
  return sums;
}

KT_INLINE void finish(const Finish& f, const int32_t* sums, const RoundedRow* rounded, int64_t rows,
                      int64_t stride, float* output) {
  for (int64_t row = 0; row < rows; ++row, ++rounded, sums += kSumsOfRow, output += stride) {
    const float step = rounded->step;
    for (int64_t block = 0; block < f.count; ++block) {
      WideInts sum, weights;
      Wide scales, values;
      std::memcpy(&sum, sums + block * kTokens, sizeof sum);
      std::memcpy(&weights, f.weights + block * kTokens, sizeof weights);
      std::memcpy(&scales, f.ends + 2 * block * kTokens, sizeof scales);
      std::memcpy(&values, f.ends + (2 * block + 1) * kTokens, sizeof values);
      values += __builtin_convertvector(sum - weights * rounded->middle, Wide) * (scales * step);
      if (rounded->count > 0) {
        const int8_t* of_block = f.bytes + block * f.quads * kTokens * kBytes;
        const WideInts apart = weights_apart(*rounded, of_block);
        values += __builtin_convertvector(apart, Wide) * (scales * rounded->apart);
      }
      values = values < f.floor ? Wide{} + f.floor : values;  // NaN stays.
      const int64_t left = f.outputs - block * kTokens;
      if (left >= kTokens) {
        std::memcpy(output + block * kTokens, &values, sizeof values);
      } else {
        std::memcpy(output + block * kTokens, &values, left * sizeof(float));
      }
    }
  }
}

// Multiplies at most kMostRows rounded rows by the blocks from `first` to `last`.
void multiply_blocks(const ByteMatrix& matrix, const Finish& layer, int64_t first, int64_t last,
                     const RoundedRows& rounded, int64_t rows, float* output) {
  static const SumBytes sum_bytes = fastest_sum_bytes();
  alignas(64) int32_t sums[kGroup * kSumsOfRow];
  for (int64_t block = first; block < last; block += kChunk) {
    const int64_t count = std::min(kChunk, last - block), place = block * kTokens;
    sum_bytes(matrix, block, count, rounded.bytes.data(), rows, sums);
    const Finish part{layer.bytes + place * layer.quads * kBytes,
                      layer.weights + place,
                      layer.ends + 2 * place,
                      layer.floor,
                      layer.quads,
                      count,
                      layer.outputs - place};
    fastest<finish>(part, sums, rounded.each, rows, layer.outputs, output + place);
  }
}

// Inputs behind the last are multiplied by zeros, whatever they are.
template <typename Vector>
KT_INLINE void to_bytes(const float* values, int64_t rows, int64_t width, int64_t stride,
                        bool has_offsets, RoundedRows& rounded) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = values + row * width;
    uint8_t* bytes = rounded.bytes.data() + row * stride;
    if (has_offsets) {
      round_row<Vector>(from, width, bytes, rounded.each[row]);
      continue;
    }
    const Sizes sizes = sizes_of(from, width);
    const int32_t middle = sizes.has_sign ? kMiddle : 0;
    const float step = round_row(from, width, sizes.largest, middle, bytes);
    rounded.each[row] = {step, middle, 0.0f, 0, {}};
  }
}

const RoundedRows& round(const float* values, int64_t rows, int64_t inputs, int64_t quads,
                         bool has_offsets) {
  static const bool is_wide = has_wide_registers();
  static thread_local RoundedRows rounded;
  const size_t size = rows * quads * kBytes;
  if (rounded.bytes.size() < size) rounded.bytes.resize(size);
  if (is_wide) {
    fastest<to_bytes<Wide>>(values, rows, inputs, quads * kBytes, has_offsets, rounded);
  } else {
    fastest<to_bytes<Floats>>(values, rows, inputs, quads * kBytes, has_offsets, rounded);
  }
  return rounded;
}

}  // namespace

BytesLayer::BytesLayer(const Node& node, size_t place, bool has_offsets)
    : bytes_(node.constant<int8_t>(place, "bytes", 4)),
      ends_(node.constant<float>(place + 1, "ends", {bytes_.shape[0], 2, kBlock})),
      has_offsets_(has_offsets) {
  if (!rounds_to_bytes()) return;
  const int64_t blocks = bytes_.shape[0], quads = bytes_.shape[1];
  check_shape("bytes", bytes_.shape, {blocks, quads, kTokens, kBytes});
  const int64_t inputs = quads * kBytes;
  if (inputs > kMostInputs) {
    throw std::invalid_argument("inputs must be at most " + std::to_string(kMostInputs) + ", got " +
                                std::to_string(inputs));
  }
  zeros_.assign(blocks * kTokens, 0), sums_.assign(blocks * kTokens, 0);
  const int8_t* weight = bytes_.data;
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t i = 0; i < quads * kTokens * kBytes; ++i, ++weight) {
      sums_[block * kTokens + i / kBytes % kTokens] += *weight;
    }
  }
}

void BytesLayer::check_sizes(int64_t inputs, int64_t outputs) const {
  check_positive("inputs", inputs);
  check_positive("outputs", outputs);
  const int64_t blocks = (outputs + kBlock - 1) / kBlock;
  if (!rounds_to_bytes()) {
    return check_shape("bytes", bytes_.shape, {blocks, (inputs + kPair - 1) / kPair, kBlock, kPair});
  }
  const int64_t quads = (inputs + kQuads * kBytes - 1) / (kQuads * kBytes) * kQuads;
  check_shape("bytes", bytes_.shape, {blocks, quads, kTokens, kBytes});
}

double BytesLayer::cost() const {
  const double weights = static_cast<double>(bytes_.shape[0] * bytes_.shape[1] * kBlock);
  return weights * static_cast<double>(bytes_.shape[3]) / (rounds_to_bytes() ? 150 : 50);
}

void BytesLayer::run_words(const float* values, int64_t rows, int64_t inputs, int64_t outputs,
                           float floor, float* output) const {
  static const Multiply multiply = fastest_multiply();
  static thread_local std::vector<int16_t> words;
  const int64_t pairs = bytes_.shape[1], stride = pairs * kPair;
  if (words.size() < static_cast<size_t>(rows * stride)) words.resize(rows * stride);
  float steps[kMostRows];
  fastest<to_words>(values, rows, inputs, stride, words.data(), steps);
  multiply({pairs, outputs, bytes_.data, ends_, floor}, words.data(), steps, rows, output);
}

void BytesLayer::run(const float* values, int64_t rows, int64_t inputs, int64_t outputs,
                     float floor, float* output) const {
  const ByteMatrix matrix{bytes_.shape[0], bytes_.shape[1], bytes_.data, zeros_.data()};
  const Finish layer{bytes_.data, sums_.data(), ends_, floor, matrix.quads, 0, outputs};
  for (int64_t row = 0; row < rows; row += kMostRows) {
    const int64_t count = std::min(kMostRows, rows - row);
    const float* from = values + row * inputs;
    float* to = output + row * outputs;
    if (!rounds_to_bytes()) {
      run_words(from, count, inputs, outputs, floor, to);
    } else {
      const RoundedRows& rounded = round(from, count, inputs, matrix.quads, has_offsets_);
      multiply_blocks(matrix, layer, 0, matrix.blocks, rounded, count, to);
    }
  }
}

void BytesLayer::run(Context& context, const float* values, int64_t rows, int64_t inputs,
                     int64_t outputs, float floor, float* output) const {
  if (rows > kMostRows || !rounds_to_bytes()) {
    return for_few_rows(context, rows, cost(), least_rows(), [&](int64_t row, int64_t count) {
      run(values + row * inputs, count, inputs, outputs, floor, output + row * outputs);
    });
  }
  const ByteMatrix matrix{bytes_.shape[0], bytes_.shape[1], bytes_.data, zeros_.data()};
  const Finish layer{bytes_.data, sums_.data(), ends_, floor, matrix.quads, 0, outputs};
  const RoundedRows& rounded = round(values, rows, inputs, matrix.quads, has_offsets_);
  const int64_t bytes = matrix.blocks * matrix.quads * kTokens * kBytes;
  const double cost = cost_with_reading(this->cost() * rows, bytes);
  for_blocks(context, matrix.blocks, kChunk, cost, [&](int64_t first, int64_t last) {
    multiply_blocks(matrix, layer, first, last, rounded, rows, output);
  });
}

template <>
LinearOperator<BytesLayer>::LinearOperator(const Node& node)
    : layer_(node, 1, node.attribute<int64_t>("offsets", 0) != 0),
      units_(node.count("units")),
      floor_(node.attribute<int64_t>("relu") ? kRelu : kLinear) {}

}  // namespace keras_transformer
