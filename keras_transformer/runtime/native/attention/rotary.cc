// Rotary positions (Su et al. 2021, section 3.2): turns queries and keys by angles that grow with their
// places. A head's features are paired by its halves.
#include <string>

#include "attention_operators.h"
#include "vectors.h"
#include "versions.h"
#include "waves.h"

namespace keras_transformer {
namespace {

// packed (columns) → output, of which `heads` heads of 2 · half numbers are turned and the rest is kept;
// waves (2 · half): the sine and the cosine of each pair.
KT_INLINE void turn(const float* packed, const float* waves, int64_t heads, int64_t half,
                    int64_t columns, float* output) {
  for (int64_t head = 0; head < heads; ++head, packed += 2 * half, output += 2 * half) {
    for (int64_t i = 0; i < half; ++i) {
      const float first = packed[i], second = packed[half + i];
      const float sine = waves[2 * i], cosine = waves[2 * i + 1];
      output[i] = first * cosine - second * sine;
      output[half + i] = second * cosine + first * sine;
    }
  }
  std::memcpy(output, packed, (columns - heads * 2 * half) * sizeof(float));
}

}  // namespace

void Rotary::compute(Context& context) const {
  const Shape shape = context.shape(0, "packed", 2);
  const int64_t rows = shape[0], columns = shape[1], width = rates_.shape[0];
  if (heads_ > columns / width) {
    throw std::invalid_argument("packed must hold " + std::to_string(heads_) + " heads of " +
                                std::to_string(width) + " numbers, got " + std::to_string(columns));
  }
  const float* packed = context.input<float>(0);
  const int32_t* places = context.input<int32_t>(1);
  const bool all_one = context.shape(1).is({1});
  if (!all_one) context.input<int32_t>(1, "places", {rows});
  float* output = context.output<float>(0, {rows, columns});
  context.parallel_for(rows, 0.5 * columns, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const float* waves = waves_of(rates_.data, width, places[all_one ? 0 : row]);
      fastest<turn>(packed + row * columns, waves, heads_, width / 2, columns, output + row * columns);
    }
  });
}

}  // namespace keras_transformer
