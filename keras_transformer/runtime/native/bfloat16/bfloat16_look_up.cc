// Looks up rows of a table that is packed as weights are, so that a head shares it.
#include "layer_operators.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// One output's weights, which lie pair by pair a block apart.
KT_INLINE void widen(const uint16_t* weights, int64_t width, float* output) {
  for (int64_t i = 0; i < width; ++i) {
    output[i] = widened(weights[i / kPair * kPair * kBlock + i % kPair]);
  }
}

}  // namespace

void Bfloat16LookUp::compute(Context& context) const {
  const int64_t of_block = weights_.shape[1] * kPair * kBlock;
  look_up(context, 1, units_, width_, 2.0 * width_, [&](int32_t id, float* row) {
    const uint16_t* block = weights_.data + id / kBlock * of_block;
    fastest<widen>(block + id % kBlock * kPair, width_, row);
  });
}

}  // namespace keras_transformer
