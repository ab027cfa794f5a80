// Greedy search's next token; `screen.h` says how.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "operators.h"
#include "screen.h"
#include "vectors.h"

namespace keras_transformer {
namespace {

// States become integers from -63 to 63, stored with 64 added.
constexpr int kLargest = 63, kMiddle = 64;
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
    float top = 0, norm = 0, error = 0;
    for (int64_t i = 0; i < width; ++i) top = std::max(top, std::fabs(x[i]));
    const float step = top > 1e-30f ? top / kLargest : 1.0f, inverse = 1.0f / step;
    for (int64_t i = 0; i < width; ++i) {
      const int32_t whole = static_cast<int32_t>(x[i] * inverse + (kMiddle + 0.5f));
      bytes[i] = static_cast<uint8_t>(whole);
      const float left = x[i] - step * static_cast<float>(whole - kMiddle);
      norm += x[i] * x[i];
      error += left * left;
    }
    result.steps[row] = step;
    result.norms[row] = std::sqrt(norm);
    result.errors[row] = std::sqrt(error);
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
      const float logit = dot(s.states + row * s.width, s.matrix + token * s.width, s.width);
      if (logit > largest) largest = logit, best = token;
    }
  }
  return static_cast<int32_t>(best);
}

Search fastest_search() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vl")) {
    return vnni::search;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::search;
#endif
  return portable::search;
}

}  // namespace

void BestToken::compute(Context& context) const {
  static const Search search = fastest_search();
  const Context::Shape states = context.shape(0), bytes = context.shape(1);
  const int64_t rows = states[0], blocks = bytes[0];
  static thread_local Quantized quantized;
  Screen screen{};
  screen.rows = rows, screen.width = states[1], screen.quads = bytes[1];
  screen.vocabulary = context.shape(3)[0];
  screen.states = context.input<float>(0);
  screen.bytes = context.input<int8_t>(1);
  screen.bounds = context.input<float>(2);
  screen.matrix = context.input<float>(3);
  quantize(screen.states, rows, screen.width, kBytes * screen.quads, quantized);
  screen.quantized = quantized.bytes.data();
  screen.steps = quantized.steps.data();
  screen.norms = quantized.norms.data();
  screen.errors = quantized.errors.data();

  int32_t* best = context.output<int32_t>(0, {rows});
  static thread_local std::vector<Candidates> candidates;
  const int64_t parts = std::min(kMostParts, 1 + blocks * screen.quads * rows / kPart);
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
