// Greedy search's next token; `screen.h` says how.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "operators.h"
#include "quantize.h"
#include "screen.h"

namespace keras_transformer {
namespace {

// What is added to states in bytes.
constexpr int32_t kMiddle = 128;
// Products of four bytes with eight tokens, each about a nanosecond, that a thread is woken for.
constexpr int64_t kPart = 1 << 16, kMostParts = 16;
// Nanoseconds that a row's candidates take.
constexpr double kDecision = 500;

struct Quantized {
  std::vector<uint8_t> bytes;
  std::vector<float> steps, norms, errors;
};

KT_CLONES void quantize(const float* states, int64_t rows, int64_t width, int64_t stride,
                        Quantized& result) {
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

// Decides between the candidates of a row in float32; of equal ones the lowest id is the best.
KT_CLONES int32_t decide(const Screen& s, int64_t row, const Candidates* found, int64_t parts) {
  float lower = -std::numeric_limits<float>::infinity(), largest = lower;
  for (int64_t part = 0; part < parts; ++part) {
    lower = std::max(lower, found[part * s.rows + row].lower);
  }
  int64_t best = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const Candidates& candidates = found[part * s.rows + row];
    for (size_t i = 0; i < candidates.uppers.size(); ++i) {
      const int64_t token = candidates.blocks[i / kTokens] * kTokens + i % kTokens;
      if (token >= s.vocabulary || candidates.uppers[i] < lower) continue;
      const float logit = s.matrix == nullptr ? candidates.uppers[i]
                                              : dot(s.states + row * s.width,
                                                    s.matrix + token * s.width, s.width);
      if (logit > largest) largest = logit, best = token;
    }
  }
  return static_cast<int32_t>(best);
}

}  // namespace

BestToken::BestToken(const Node& node)
    : vocabulary_(node.attribute<int64_t>("vocabulary")),
      bytes_(node.constant<int8_t>(1, "bytes")),
      starts_(node.constant<int32_t>(2, "starts", {bytes_.shape[0], kTokens})),
      bounds_(node.constant<float>(3, "bounds", {bytes_.shape[0], 3, kTokens})),
      matrix_(node.constant<float>(4)) {
  const int64_t blocks = (vocabulary_ + kTokens - 1) / kTokens;
  check_shape("bytes", bytes_.shape, {blocks, bytes_.shape[1], kTokens, kBytes});
}

void BestToken::compute(Context& context) const {
  static const Search search = KT_FASTEST(search);
  const Shape states = context.shape(0);
  const int64_t rows = states[0], width = states[1];
  const int64_t blocks = bytes_.shape[0], quads = (width + kBytes - 1) / kBytes;
  check_shape("bytes", bytes_.shape, {blocks, quads, kTokens, kBytes});
  static thread_local Quantized quantized;
  Screen screen{};
  screen.rows = rows, screen.width = width, screen.quads = quads;
  screen.vocabulary = vocabulary_;
  screen.states = context.input<float>(0);
  screen.bytes = bytes_.data;
  screen.starts = starts_;
  screen.bounds = bounds_;
  screen.matrix = matrix_.data;
  if (matrix_.data != nullptr) {
    check_shape("matrix", matrix_.shape, {vocabulary_, width});
  } else if (context.input<float>(4) != nullptr) {
    throw std::invalid_argument("matrix must be stored in the graph");
  }
  quantize(screen.states, rows, width, kBytes * quads, quantized);
  if (screen.matrix == nullptr) {
    // The rows' steps change no order, but may round two logits to the same.
    std::fill(quantized.steps.begin(), quantized.steps.end(), 1.0f);
  }
  screen.quantized = quantized.bytes.data();
  screen.steps = quantized.steps.data();
  screen.norms = quantized.norms.data();
  screen.errors = quantized.errors.data();

  int32_t* best = context.output<int32_t>(0, {rows});
  static thread_local std::vector<Candidates> candidates;
  const int64_t parts = std::min(kMostParts, 1 + blocks * quads * rows / kPart);
  if (candidates.size() < static_cast<size_t>(parts * rows)) candidates.resize(parts * rows);
  Candidates* found = candidates.data();
  context.parallel_for(parts, kPart, [&](int64_t first, int64_t last) {
    for (int64_t part = first; part < last; ++part) {
      search(screen, blocks * part / parts, blocks * (part + 1) / parts, found + part * rows);
    }
  });
  context.parallel_for(rows, kDecision, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) best[row] = decide(screen, row, found, parts);
  });
}

}  // namespace keras_transformer
