// The position-wise feed-forward sub-layer, section 3.3 of "Attention Is All You Need".
#include "layer_operators.h"

namespace keras_transformer {

void FeedForwardSubLayer::compute(Context& context) const {
  const auto rows = layer_.rows(context, context.shape(0)[0], units_, kRelu, units_);
  const auto hidden = [](int64_t, int64_t, const float* projected, float*) { return projected; };
  layer_.run(context, rows, 0, hidden);
}

}  // namespace keras_transformer
