// What becomes of rows: their scale (section 3.4), what bounds them, and what is added to them or stands
// behind them.
#include <algorithm>

#include "layer_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

KT_INLINE void scale_row(const float* found, float scale, int64_t width, float* output) {
  for (int64_t i = 0; i < width; ++i) output[i] = found[i] * scale;
}

KT_INLINE void add_row(const float* x, const float* y, int64_t width, float* output) {
  for (int64_t i = 0; i < width; ++i) output[i] = x[i] + y[i];
}

KT_INLINE void cap_numbers(const float* x, float cap, int64_t count, float* output) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t some = std::min<int64_t>(kLanes, count - i);
    store_some(output + i, capped(load_some(x + i, some), cap), some);
  }
}

}  // namespace

void AddRows::compute(Context& context) const {
  const Shape shape = context.shape(0, "x", 2);
  const int64_t rows = shape[0], width = shape[1];
  const int64_t others = context.shape(1, "y", 2)[0] == 1 ? 1 : rows;
  const float* x = context.input<float>(0);
  const float* y = context.input<float>(1, "y", {others, width});
  float* output = context.output<float>(0, {rows, width});
  for (int64_t row = 0; row < rows; ++row, x += width, output += width) {
    fastest<add_row>(x, y + row % others * width, width, output);
  }
}

void AppendRow::compute(Context& context) const {
  const Shape shape = context.shape(0, "x", 2);
  // Nothing else limits how many empty rows there are.
  const int64_t rows = shape[0], width = check_positive("the width of x", shape[1]);
  const int64_t count = context.shape(1, "y", 1)[0];
  const float *x = context.input<float>(0), *y = context.input<float>(1);
  float* output = context.output<float>(0, {rows, width + count});
  for (int64_t row = 0; row < rows; ++row, x += width) {
    output = std::copy_n(y, count, std::copy_n(x, width, output));
  }
}

void SoftCap::compute(Context& context) const {
  const Shape shape = context.shape(0, "x", 2);
  const int64_t count = shape[0] * shape[1];
  const float* x = context.input<float>(0);
  float* output = context.output<float>(0, {shape[0], shape[1]});
  // As many as are worth a thread.
  constexpr int64_t kBlock = 1 << 12;
  const int64_t blocks = (count + kBlock - 1) / kBlock;
  context.parallel_for(blocks, 1.0 * kBlock, [&](int64_t first, int64_t last) {
    const int64_t start = first * kBlock, end = std::min(count, last * kBlock);
    fastest<cap_numbers>(x + start, cap_, end - start, output + start);
  });
}

void Scaled::compute(Context& context) const {
  const Shape shape = context.shape(0, "found", 2);
  const float* found = context.input<float>(0);
  float* output = context.output<float>(0, {shape[0], shape[1]});
  fastest<scale_row>(found, scale_, shape[0] * shape[1], output);
}

}  // namespace keras_transformer
