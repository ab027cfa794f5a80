// The input of encoder and decoder: scaled embeddings plus sinusoids of their positions, section 3.5.
#include "layer_operators.h"
#include "vectors.h"
#include "versions.h"
#include "waves.h"

namespace keras_transformer {
namespace {

KT_INLINE void scale_and_add(const float* found, const float* waves, float scale, int64_t width,
                             float* output) {
  for (int64_t i = 0; i < width; ++i) output[i] = found[i] * scale + waves[i];
}

}  // namespace

void AddSinusoid::compute(Context& context) const {
  const Shape shape = context.shape(0);
  const int64_t rows = shape[0], width = rates_.shape[0];
  check_shape("found", shape, {rows, width});
  const float* found = context.input<float>(0);
  const int32_t* positions = context.input<int32_t>(1);
  const bool all_one = context.shape(1).is({1});
  if (!all_one) context.input<int32_t>(1, "positions", {rows});
  float* output = context.output<float>(0, {rows, width});
  for (int64_t row = 0; row < rows; ++row) {
    const float* waves = waves_of(rates_.data, width, positions[all_one ? 0 : row]);
    fastest<scale_and_add>(found + row * width, waves, scale_, width, output + row * width);
  }
}

}  // namespace keras_transformer
