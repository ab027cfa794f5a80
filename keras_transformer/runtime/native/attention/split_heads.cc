// Projections of whole sequences, such as the decoder's keys and values, one tensor for each.
#include <cstring>

#include "operators.h"

namespace keras_transformer {

void SplitHeads::compute(Context& context) const {
  const Shape shape = context.shape(0, "projected", 2);
  const Shape batch_length = context.shape(1, "mask", 2);
  const int64_t outputs = static_cast<int64_t>(context.output_count());
  if (outputs != parts_) {
    throw std::invalid_argument("parts must be " + std::to_string(outputs) +
                                ", as many as outputs, got " + std::to_string(parts_));
  }
  const int64_t batch = batch_length[0], length = batch_length[1], all = shape[1];
  const int64_t width = all / (parts_ * heads_);
  check_shape("projected", shape, {batch * length, parts_ * heads_ * width});
  const float* projected = context.input<float>(0);
  for (int64_t part = 0; part < parts_; ++part) {
    float* output = context.output<float>(part, {batch, heads_, length, width});
    for (int64_t sentence = 0; sentence < batch; ++sentence) {
      for (int64_t head = 0; head < heads_; ++head) {
        const float* from = projected + sentence * length * all + (part * heads_ + head) * width;
        for (int64_t place = 0; place < length; ++place, from += all, output += width) {
          std::memcpy(output, from, width * sizeof(float));
        }
      }
    }
  }
}

}  // namespace keras_transformer
