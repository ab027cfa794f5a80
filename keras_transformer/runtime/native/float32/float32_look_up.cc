// Looks up rows of a table in float32.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "layer_operators.h"

namespace keras_transformer {

void Float32LookUp::compute(Context& context) const {
  const int64_t rows = context.shape(1, "ids", 1)[0], count = table_.shape[0];
  const int64_t width = table_.shape[1];
  const int32_t* ids = context.input<int32_t>(1);
  float* output = context.output<float>(0, {rows, width});
  for (int64_t row = 0; row < rows; ++row) {
    if (ids[row] < 0 || ids[row] >= count) {
      throw std::invalid_argument("ids must be from 0 to " + std::to_string(count - 1) + ", got " +
                                  std::to_string(ids[row]));
    }
    std::copy_n(table_.data + ids[row] * width, width, output + row * width);
  }
}

}  // namespace keras_transformer
