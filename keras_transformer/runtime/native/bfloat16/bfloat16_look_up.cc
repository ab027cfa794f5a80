// Looks up rows of a table that is packed as weights are, so that a head shares it.
#include <stdexcept>
#include <string>

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
  const Shape shape = context.shape(1);
  if (shape.axes != 1) check_axes("ids", shape, 2);
  const int64_t rows = shape.axes == 1 ? shape[0] : shape[0] * shape[1];
  const int32_t* ids = context.input<int32_t>(1);
  for (int64_t row = 0; row < rows; ++row) {
    if (ids[row] >= 0 && ids[row] < units_) continue;
    throw std::invalid_argument("ids must be from 0 to " + std::to_string(units_ - 1) + ", got " +
                                std::to_string(ids[row]));
  }
  float* output = shape.axes == 1 ? context.output<float>(0, {rows, width_})
                                  : context.output<float>(0, {shape[0], shape[1], width_});
  const int64_t of_block = weights_.shape[1] * kPair * kBlock;
  context.parallel_for(rows, 2 * width_, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const int64_t block = ids[row] / kBlock, place = ids[row] % kBlock;
      fastest<widen>(weights_.data + block * of_block + place * kPair, width_,
                     output + row * width_);
    }
  });
}

}  // namespace keras_transformer
