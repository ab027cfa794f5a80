// Embeddings where attention has the positions (section 3.4).
#include "layer_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

KT_INLINE void scale_row(const float* found, float scale, int64_t width, float* output) {
  for (int64_t i = 0; i < width; ++i) output[i] = found[i] * scale;
}

}  // namespace

void Scaled::compute(Context& context) const {
  const Shape shape = context.shape(0, "found", 2);
  const float* found = context.input<float>(0);
  float* output = context.output<float>(0, {shape[0], shape[1]});
  fastest<scale_row>(found, scale_, shape[0] * shape[1], output);
}

}  // namespace keras_transformer
