// Looks up rows of a table in bytes, each with its own scale; reads the ids of all look-ups.
#include <stdexcept>
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

RowsOfIds rows_of_ids(Context& context, size_t place, int64_t units, int64_t width) {
  Shape shape = context.shape(place);
  if (shape.axes >= kMostAxes) {
    throw std::invalid_argument("ids must have at most " + std::to_string(kMostAxes - 1) +
                                " axes, got the shape " + shape.text());
  }
  int64_t count = 1;
  for (size_t axis = 0; axis < shape.axes; ++axis) count *= shape[axis];
  const int32_t* ids = context.input<int32_t>(place);
  for (int64_t row = 0; row < count; ++row) {
    if (ids[row] >= 0 && ids[row] < units) continue;
    throw std::invalid_argument("ids must be from 0 to " + std::to_string(units - 1) + ", got " +
                                std::to_string(ids[row]));
  }
  shape.sizes[shape.axes++] = width;
  return {ids, count, static_cast<float*>(context.make(0, shape))};
}

void LookUp::compute(Context& context) const {
  const int64_t units = table_.shape[0], width = table_.shape[1];
  look_up(context, 2, units, width, width / 8.0, [&](int32_t id, float* row) {
    fastest<scale>(table_.data + id * width, width, scales_[id], row);
  });
}

}  // namespace keras_transformer
