// Looks up rows of a table in bytes, each with its own scale.
#include <string>

#include "layer_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

KT_INLINE void scale(const int8_t* bytes, int64_t width, float factor, float* output) {
  for (int64_t i = 0; i < width; ++i) output[i] = static_cast<float>(bytes[i]) * factor;
}

}  // namespace

void LookUp::compute(Context& context) const {
  const Shape shape = context.shape(2, "ids", 1);
  const int64_t rows = shape[0], count = table_.shape[0], width = table_.shape[1];
  const int32_t* ids = context.input<int32_t>(2);
  float* output = context.output<float>(0, {rows, width});
  for (int64_t row = 0; row < rows; ++row) {
    if (ids[row] < 0 || ids[row] >= count) {
      throw std::invalid_argument("ids must be from 0 to " + std::to_string(count - 1) + ", got " +
                                  std::to_string(ids[row]));
    }
    fastest<scale>(table_.data + ids[row] * width, width, scales_[ids[row]], output + row * width);
  }
}

}  // namespace keras_transformer
