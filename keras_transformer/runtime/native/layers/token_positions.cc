// Which places of sequences hold tokens, and the position of each, not counting padding.
#include <algorithm>

#include "layer_operators.h"

namespace keras_transformer {

void TokenPositions::compute(Context& context) const {
  const Shape shape = context.shape(0, "ids", 2);
  const int64_t batch = shape[0], length = shape[1], places = batch * length;
  const int32_t* ids = context.input<int32_t>(0);
  int32_t* mask = context.output<int32_t>(0, {batch, length});
  int32_t* positions = context.output<int32_t>(1, {places});
  for (int64_t first = 0; first < places; first += length) {
    int32_t tokens = 0;
    for (int64_t place = first; place < first + length; ++place) {
      mask[place] = ids[place] != pad_;
      tokens += mask[place];
      positions[place] = std::max(tokens - 1, 0);
    }
  }
}

void PackTokens::compute(Context& context) const {
  const Shape shape = context.shape(0, "ids", 2);
  const int64_t places = shape[0] * shape[1];
  const int32_t* ids = context.input<int32_t>(0);
  const int64_t tokens = places - std::count(ids, ids + places, pad_);
  int32_t* mask = context.output<int32_t>(0, {shape[0], shape[1]});
  int32_t* packed = context.output<int32_t>(1, {tokens});
  int32_t* positions = context.output<int32_t>(2, {tokens});
  int32_t position = 0;
  for (int64_t place = 0; place < places; ++place) {
    if (place % shape[1] == 0) position = 0;
    mask[place] = ids[place] != pad_;
    if (!mask[place]) continue;
    *packed++ = ids[place];
    *positions++ = position++;
  }
}

}  // namespace keras_transformer
