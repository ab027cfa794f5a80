// A linear layer with weights in bytes: its inputs are rounded to words or to bytes, row by row, so
// that no row's result depends on the others.
#include <algorithm>
#include <vector>

#include "linear_operators.h"
#include "quantize.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// The offset of bytes, unless no value of a row is negative.
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

// Rows in bytes, `stride` from one to the next, the step of each and whether it has the offset.
struct Rounded {
  std::vector<uint8_t> bytes;
  float steps[kMostRows];
  bool is_shifted[kMostRows];
};

// Inputs behind the last are multiplied by zeros, whatever they are.
KT_INLINE void to_bytes(const float* values, int64_t rows, int64_t width, int64_t stride,
                        Rounded& rounded) {
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = values + row * width;
    const Sizes sizes = sizes_of(from, width);
    uint8_t* bytes = rounded.bytes.data() + row * stride;
    rounded.is_shifted[row] = sizes.has_sign;
    rounded.steps[row] = round_row(from, width, sizes.largest, sizes.has_sign ? kMiddle : 0, bytes);
  }
}

// What the sums of some blocks become: the first of `outputs` outputs of each row.
struct Finish {
  const int32_t *zeros, *shifts;
  const float* ends;  // (blocks, 2, 16): scales and biases
  float floor;
  int64_t count, outputs;  // blocks, and outputs of them that there are
};

typedef int32_t SixteenInts __attribute__((vector_size(64)));

KT_INLINE void finish(const Finish& f, const int32_t* sums, const Rounded& rounded, int64_t rows,
                      int64_t stride, float* output) {
  for (int64_t row = 0; row < rows; ++row, sums += kSumsOfRow, output += stride) {
    const int32_t* shifts = rounded.is_shifted[row] ? f.shifts : f.zeros;
    const float step = rounded.steps[row];
    for (int64_t block = 0; block < f.count; ++block) {
      SixteenInts sum, shift;
      Wide scales, values;
      std::memcpy(&sum, sums + block * kTokens, sizeof sum);
      std::memcpy(&shift, shifts + block * kTokens, sizeof shift);
      std::memcpy(&scales, f.ends + 2 * block * kTokens, sizeof scales);
      std::memcpy(&values, f.ends + (2 * block + 1) * kTokens, sizeof values);
      values += __builtin_convertvector(sum + shift, Wide) * (scales * step);
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
                     const Rounded& rounded, int64_t rows, float* output) {
  static const SumBytes sum_bytes = fastest_sum_bytes();
  alignas(64) int32_t sums[kGroup * kSumsOfRow];
  for (int64_t block = first; block < last; block += kChunk) {
    const int64_t count = std::min(kChunk, last - block), place = block * kTokens;
    sum_bytes(matrix, block, count, rounded.bytes.data(), rows, sums);
    const Finish part{layer.zeros + place, layer.shifts + place, layer.ends + 2 * place,
                      layer.floor,         count,                layer.outputs - place};
    fastest<finish>(part, sums, rounded, rows, layer.outputs, output + place);
  }
}

const Rounded& round(const float* values, int64_t rows, int64_t inputs, int64_t quads) {
  static thread_local Rounded rounded;
  const size_t size = rows * quads * kBytes;
  if (rounded.bytes.size() < size) rounded.bytes.resize(size);
  fastest<to_bytes>(values, rows, inputs, quads * kBytes, rounded);
  return rounded;
}

}  // namespace

BytesLayer::BytesLayer(const Node& node, size_t place)
    : bytes_(node.constant<int8_t>(place, "bytes", 4)),
      ends_(node.constant<float>(place + 1, "ends", {bytes_.shape[0], 2, kBlock})) {
  if (!rounds_to_bytes()) return;
  const int64_t blocks = bytes_.shape[0], quads = bytes_.shape[1];
  check_shape("bytes", bytes_.shape, {blocks, quads, kTokens, kBytes});
  const int64_t inputs = quads * kBytes;
  if (inputs > kMostInputs) {
    throw std::invalid_argument("inputs must be at most " + std::to_string(kMostInputs) + ", got " +
                                std::to_string(inputs));
  }
  zeros_.assign(blocks * kTokens, 0), shifts_.assign(blocks * kTokens, 0);
  const int8_t* weight = bytes_.data;
  for (int64_t block = 0; block < blocks; ++block) {
    for (int64_t i = 0; i < quads * kTokens * kBytes; ++i, ++weight) {
      shifts_[block * kTokens + i / kBytes % kTokens] -= kMiddle * *weight;
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
  const Finish layer{zeros_.data(), shifts_.data(), ends_, floor, 0, outputs};
  for (int64_t row = 0; row < rows; row += kMostRows) {
    const int64_t count = std::min(kMostRows, rows - row);
    const float* from = values + row * inputs;
    float* to = output + row * outputs;
    if (!rounds_to_bytes()) {
      run_words(from, count, inputs, outputs, floor, to);
    } else {
      const Rounded& rounded = round(from, count, inputs, matrix.quads);
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
  const Finish layer{zeros_.data(), shifts_.data(), ends_, floor, 0, outputs};
  const Rounded& rounded = round(values, rows, inputs, matrix.quads);
  for_blocks(context, matrix.blocks, kChunk, cost() * rows, [&](int64_t first, int64_t last) {
    multiply_blocks(matrix, layer, first, last, rounded, rows, output);
  });
}

}  // namespace keras_transformer
