// Projections of whole sequences, such as the decoder's keys and values, one tensor for each.
#include <cstring>

#include "attention.h"
#include "attention_operators.h"
#include "sentences.h"

namespace keras_transformer {

void SplitHeads::compute(Context& context) const {
  const Shape shape = context.shape(0, "projected", 2);
  const int64_t outputs = static_cast<int64_t>(context.output_count());
  if (outputs != parts_) {
    throw std::invalid_argument("parts must be " + std::to_string(outputs) +
                                ", as many as outputs, got " + std::to_string(parts_));
  }
  const int64_t rows = shape[0], all = shape[1], width = all / (parts_ * heads_);
  check_shape("projected", shape, {rows, parts_ * heads_ * width});
  check_heads(heads_, width);
  const Sentences sentences = read_sentences(context, 1, rows);
  const int64_t batch = sentences.batch, length = sentences.length;
  const size_t size = width * sizeof(float);
  const float* projected = context.input<float>(0);
  for (int64_t part = 0; part < parts_; ++part) {
    float* output = context.output<float>(part, {batch, heads_, length, width});
    for (int64_t number = 0; number < sentences.count(); ++number) {
      const Sentence& sentence = sentences.each[number];
      const int32_t* mask = sentences.mask + number * length;
      const bool holds_all = sentence.rows == length;
      for (int64_t head = 0; head < heads_; ++head) {
        const float* from = projected + sentence.start * all + (part * heads_ + head) * width;
        for (int64_t place = 0; place < length; ++place, output += width) {
          if (holds_all || mask[place]) {
            std::memcpy(output, from, size);
            from += all;
          } else {
            std::memset(output, 0, size);
          }
        }
      }
    }
  }
}

}  // namespace keras_transformer
