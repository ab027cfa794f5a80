// A linear layer with weights in 4 bits: its inputs are rounded to bytes, each group of a row with a
// step of its own, and multiplied, on one thread or on all.
#include "int4_layer.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linear_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// Blocks of one thread's part of the outputs.
constexpr int64_t kPart = 4;
// The largest byte.
constexpr float kMost = 127;
// The octets of the sizes of groups that there are: 32 and 128.
constexpr int64_t kFewOctets = 4, kManyOctets = 16;

struct Rounded {
  std::vector<int8_t> bytes;
  std::vector<int32_t> sums;
  std::vector<float> steps;
};

// Rounds eight values, the even ones first; returns them as integers.
KT_INLINE Ints round_octet(const float* values, float factor, int8_t* bytes) {
  typedef int8_t Octet __attribute__((vector_size(kOctet)));
  // Adding 1.5 · 2²³ rounds to the nearest integer.
  const Floats shift = Floats{} + 12582912.0f;
  const Ints integers = (Ints)(load(values) * factor + shift) - (Ints)shift;
  const Octet octet = __builtin_convertvector(integers, Octet);
  const Octet order = __builtin_shufflevector(octet, octet, 0, 2, 4, 6, 1, 3, 5, 7);
  std::memcpy(bytes, &order, sizeof order);
  return integers;
}

// Rounds a group. Of one with a value that is no finite number the bytes are zeros and the step is not
// finite, so that all outputs are NaN.
KT_INLINE float round_group(const float* values, int64_t size, int8_t* bytes, int32_t* sum) {
  const float largest = largest_size(values, size);
  const bool is_held = largest > 1e-30f && largest <= std::numeric_limits<float>::max();
  Ints sums{};
  if (is_held) {
    const float factor = kMost / largest;
    for (int64_t i = 0; i < size; i += kOctet) sums += round_octet(values + i, factor, bytes + i);
  } else {
    std::memset(bytes, 0, size);
  }
  *sum = 0;
  for (int lane = 0; lane < kLanes; ++lane) *sum += sums[lane];
  return largest / kMost;
}

KT_INLINE void round(const float* values, int64_t rows, int64_t width, int64_t groups, int64_t size,
                     Rounded& rounded) {
  int8_t* bytes = rounded.bytes.data();
  int32_t* sums = rounded.sums.data();
  float* steps = rounded.steps.data();
  float last[kManyOctets * kOctet];
  for (int64_t row = 0; row < rows; ++row, values += width) {
    for (int64_t group = 0; group < groups; ++group, bytes += size) {
      const float* from = values + group * size;
      const int64_t left = width - group * size;
      if (left < size) {
        std::fill(std::copy(from, from + left, last), last + size, 0.0f);
        from = last;
      }
      *steps++ = round_group(from, size, bytes, sums++);
    }
  }
}

// Rounds rows; the result is valid until the thread's next call.
Int4Rows rounded_rows(const float* values, int64_t rows, int64_t width, int64_t groups,
                      int64_t size) {
  static thread_local Rounded rounded;
  const size_t count = rows * groups;
  if (rounded.sums.size() < count) rounded.sums.resize(count), rounded.steps.resize(count);
  if (rounded.bytes.size() < count * size) rounded.bytes.resize(count * size);
  fastest<round>(values, rows, width, groups, size, rounded);
  return {rounded.bytes.data(), rounded.sums.data(), rounded.steps.data()};
}

}  // namespace

Int4Weights::Int4Weights(const Node& node, size_t place)
    : bytes_(node.constant<uint8_t>(place, "weights", 4)),
      has_zeros_(bytes_.shape[2] % 2 != 0),
      octets_((bytes_.shape[2] - kScaleBytes - has_zeros_) * kBlock / (kBlock * kOctet / 2)) {
  const int64_t lines = kScaleBytes + has_zeros_ + octets_ * kOctet / 2;
  if ((octets_ == kFewOctets || octets_ == kManyOctets) && bytes_.shape[2] == lines) return;
  throw std::invalid_argument("weights must have 18, 19, 66 or 67 lines, got the shape " +
                              bytes_.shape.text());
}

void Int4Weights::check_sizes(int64_t inputs, int64_t outputs) const {
  check_positive("inputs", inputs);
  check_positive("outputs", outputs);
  const int64_t blocks = (outputs + kBlock - 1) / kBlock;
  const int64_t groups = (inputs + group_size() - 1) / group_size();
  check_shape("weights", bytes_.shape, {blocks, groups, bytes_.shape[2], kBlock});
}

double Int4Layer::cost() const {
  const Shape& shape = weights_.shape();
  return static_cast<double>(shape[0] * kBlock * shape[1] * weights_.group_size()) / 100;
}

void Int4Layer::run(const float* values, int64_t rows, int64_t inputs, int64_t outputs, float floor,
                    float* output) const {
  static const MultiplyInt4 multiply = fastest_multiply_int4();
  const Int4Matrix m = weights_.matrix(outputs, biases_, floor);
  for (int64_t row = 0; row < rows; row += kMostRows) {
    const int64_t count = std::min(kMostRows, rows - row);
    const Int4Rows rounded =
        rounded_rows(values + row * inputs, count, inputs, m.groups, weights_.group_size());
    multiply(m, 0, weights_.shape()[0], rounded, count, output + row * outputs);
  }
}

void Int4Layer::run(Context& context, const float* values, int64_t rows, int64_t inputs,
                    int64_t outputs, float floor, float* output) const {
  static const MultiplyInt4 multiply = fastest_multiply_int4();
  if (rows > kMostRows) {
    return for_few_rows(context, rows, cost(), least_rows(), [&](int64_t row, int64_t count) {
      run(values + row * inputs, count, inputs, outputs, floor, output + row * outputs);
    });
  }
  const Int4Matrix m = weights_.matrix(outputs, biases_, floor);
  const Int4Rows rounded = rounded_rows(values, rows, inputs, m.groups, weights_.group_size());
  const int64_t blocks = weights_.shape()[0];
  const double cost = cost_with_reading(this->cost() * rows, blocks * m.groups * m.of_group());
  for_blocks(context, blocks, kPart, cost, [&](int64_t first, int64_t last) {
    multiply(m, first, last, rounded, rows, output);
  });
}

}  // namespace keras_transformer
