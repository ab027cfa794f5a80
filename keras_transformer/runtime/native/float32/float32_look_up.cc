// Looks up rows of a table in float32.
#include <algorithm>

#include "layer_operators.h"

namespace keras_transformer {

void Float32LookUp::compute(Context& context) const {
  const int64_t units = table_.shape[0], width = table_.shape[1];
  look_up(context, 1, units, width, width / 8.0, [&](int32_t id, float* row) {
    std::copy_n(table_.data + id * width, width, row);
  });
}

}  // namespace keras_transformer
