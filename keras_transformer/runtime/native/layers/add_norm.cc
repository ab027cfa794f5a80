// A residual sum and the normalisation that reads it.
#include <cmath>
#include <vector>

#include "layer_operators.h"
#include "norm.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// Sums of `value(i)`, eight from i on, and of what `rest` adds to them; several at a time, as each
// addition waits for the one before.
constexpr int kSums = 4;

template <typename Value>
KT_INLINE float sum_all(int64_t width, const Value& value, float rest) {
  Floats sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums * kLanes <= width; i += kSums * kLanes) {
    for (int part = 0; part < kSums; ++part) sums[part] += value(i + part * kLanes);
  }
  for (; i + kLanes <= width; i += kLanes) sums[0] += value(i);
  return sum((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

// x + y of a row, stored in `total`; returns the sum of what `of` makes of each.
template <typename Of>
KT_INLINE float add_row(const float* x, const float* y, int64_t width, float* total, const Of& of) {
  const int64_t whole = width - width % kLanes;
  float rest = 0;
  for (int64_t i = whole; i < width; ++i) rest += of(total[i] = x[i] + y[i]);
  const auto add = [&](int64_t i) KT_INLINE_LAMBDA {
    const Floats v = load(x + i) + load(y + i);
    store(total + i, v);
    return of(v);
  };
  return sum_all(width, add, rest);
}

KT_INLINE void add_norm(const float* x, const float* y, const float* gamma, const float* beta,
                        float epsilon, int64_t rows, int64_t width, float* sums, float* norms) {
  const int64_t whole = width - width % kLanes;
  const auto same = [](auto v) KT_INLINE_LAMBDA { return v; };
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t start = row * width;
    float *total = sums + start, *norm = norms + start;
    const float mean = add_row(x + start, y + start, width, total, same) / width;
    float rest = 0;
    for (int64_t i = whole; i < width; ++i) rest += (total[i] - mean) * (total[i] - mean);
    const auto square = [&](int64_t i) KT_INLINE_LAMBDA {
      const Floats v = load(total + i) - mean;
      return v * v;
    };
    const float factor = 1.0f / std::sqrt(sum_all(width, square, rest) / width + epsilon);
    for (int64_t i = 0; i < whole; i += kLanes) {
      const Floats v = (load(total + i) - mean) * factor;
      store(norm + i, v * load(gamma + i) + load(beta + i));
    }
    for (int64_t i = whole; i < width; ++i) {
      norm[i] = (total[i] - mean) * factor * gamma[i] + beta[i];
    }
  }
}

KT_INLINE void add_rms_norm(const float* x, const float* y, const float* gamma, float epsilon,
                            int64_t rows, int64_t width, float* sums, float* norms) {
  const int64_t whole = width - width % kLanes;
  const auto square = [](auto v) KT_INLINE_LAMBDA { return v * v; };
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t start = row * width;
    float *total = sums + start, *norm = norms + start;
    const float squares = add_row(x + start, y + start, width, total, square);
    const float factor = 1.0f / std::sqrt(squares / width + epsilon);
    for (int64_t i = 0; i < whole; i += kLanes) store(norm + i, load(total + i) * factor * load(gamma + i));
    for (int64_t i = whole; i < width; ++i) norm[i] = total[i] * factor * gamma[i];
  }
}

}  // namespace

void Norm::run(const float* x, const float* y, int64_t rows, float* sums, float* norms) const {
  fastest<add_norm>(x, y, gamma_.data, beta_, epsilon_, rows, width(), sums, norms);
}

void RmsNorm::run(const float* x, const float* y, int64_t rows, float* sums, float* norms) const {
  fastest<add_rms_norm>(x, y, gamma_.data, epsilon_, rows, width(), sums, norms);
}

template <typename Kind>
void AddNormOperator<Kind>::compute(Context& context) const {
  const Shape shape = context.shape(0);
  const int64_t rows = shape[0], width = norm_.width();
  check_shape("x", shape, {rows, width});
  const float* x = context.input<float>(0);
  const float* y = context.input<float>(1, "y", {rows, width});
  float *sums = context.output<float>(0, {rows, width});
  float *norms = context.output<float>(1, {rows, width});
  context.parallel_for(rows, 0.2 * width, [&](int64_t first, int64_t last) {
    const int64_t start = first * width;
    norm_.run(x + start, y + start, last - first, sums + start, norms + start);
  });
}

template <typename Kind>
void NormRowsOperator<Kind>::compute(Context& context) const {
  const int64_t rows = context.shape(0, "x", 2)[0], width = norm_.width();
  const float* x = context.input<float>(0, "x", {rows, width});
  float* norms = context.output<float>(0, {rows, width});
  context.parallel_for(rows, 0.2 * width, [&](int64_t first, int64_t last) {
    static thread_local std::vector<float> zeros, sums;
    zeros.assign(width, 0.0f), sums.resize(width);
    for (int64_t row = first; row < last; ++row) {
      norm_.run(x + row * width, zeros.data(), 1, sums.data(), norms + row * width);
    }
  });
}

template class AddNormOperator<Norm>;
template class AddNormOperator<RmsNorm>;
template class NormRowsOperator<Norm>;
template class NormRowsOperator<RmsNorm>;

}  // namespace keras_transformer
