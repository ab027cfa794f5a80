// Which places of sequences hold tokens, and the position of each, not counting padding.
#include <algorithm>

#include "operators.h"

namespace keras_transformer {

void TokenPositions::compute(Context& context) const {
  const Shape shape = context.shape(0, "ids", 2);
  const int64_t batch = shape[0], length = shape[1];
  const int32_t* ids = context.input<int32_t>(0);
  int32_t* mask = context.output<int32_t>(0, {batch, length});
  int32_t* positions = context.output<int32_t>(1, {batch * length});
  for (int64_t sentence = 0; sentence < batch; ++sentence) {
    int32_t tokens = 0;
    for (int64_t place = sentence * length; place < (sentence + 1) * length; ++place) {
      mask[place] = ids[place] != pad_;
      tokens += mask[place];
      positions[place] = std::max(tokens - 1, 0);
    }
  }
}

}  // namespace keras_transformer
