#include "byte_head.h"

#include <algorithm>
#include <cmath>

#include "quantize.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// The offset that is added to states in bytes.
constexpr int32_t kMiddle = 128;

KT_INLINE void quantize(const float* states, int64_t rows, int64_t width, int64_t stride,
                        ByteRows& result) {
  result.bytes.assign(rows * stride, kMiddle);
  result.steps.resize(rows), result.norms.resize(rows), result.errors.resize(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const float* x = states + row * width;
    uint8_t* bytes = result.bytes.data() + row * stride;
    const float step = quantize_row(x, width, kMiddle, bytes);
    Floats norm{}, error{};
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
      Bytes held;
      std::memcpy(&held, bytes + i, sizeof held);
      const Floats values = load(x + i);
      const Floats left =
          values - all(step) * (__builtin_convertvector(held, Floats) - all(kMiddle));
      norm += values * values;
      error += left * left;
    }
    float norms = sum(norm), errors = sum(error);
    for (; i < width; ++i) {
      const float left = x[i] - step * static_cast<float>(bytes[i] - kMiddle);
      norms += x[i] * x[i];
      errors += left * left;
    }
    result.steps[row] = step;
    result.norms[row] = std::sqrt(norms);
    result.errors[row] = std::sqrt(errors);
  }
}

}  // namespace

ByteHead::ByteHead(const Node& node, size_t place)
    : vocabulary_(node.count("vocabulary")) {
  const Constant<int8_t> bytes = node.constant<int8_t>(place, "bytes", 4);
  const int64_t blocks = (vocabulary_ + kTokens - 1) / kTokens;
  const int64_t quads = (bytes.shape[1] + kQuads - 1) / kQuads * kQuads;
  check_shape("bytes", bytes.shape, {blocks, quads, kTokens, kBytes});
  const int32_t* starts = node.constant<int32_t>(place + 1, "starts", {blocks, kTokens});
  matrix_ = {blocks, quads, bytes.data, starts};
  bounds_ = node.constant<float>(place + 2, "bounds", {blocks, 3, kTokens});
  // Comparisons would never choose a token whose logit is NaN, as if it were the worst.
  const auto is_finite = [](float bound) { return std::isfinite(bound); };
  if (!std::all_of(bounds_, bounds_ + blocks * 3 * kTokens, is_finite)) {
    throw std::invalid_argument("bounds must be finite");
  }
}

const ByteRows& ByteHead::round(const float* states, int64_t rows, int64_t width) const {
  constexpr int64_t kStep = kQuads * kBytes;
  const int64_t stride = (width + kStep - 1) / kStep * kStep;
  check_shape("bytes", {4, {matrix_.blocks, matrix_.quads, kTokens, kBytes}},
              {matrix_.blocks, stride / kBytes, kTokens, kBytes});
  static thread_local ByteRows rounded;
  fastest<quantize>(states, rows, width, stride, rounded);
  return rounded;
}

}  // namespace keras_transformer
