// Projections of whole sequences, such as the decoder's keys and values, one tensor for each, or in caches.
#include <cstring>
#include <string>

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

Prompt Prompt::read(Context& context, size_t place) {
  const Shape packed = context.shape(0, "packed", 2), shape = context.shape(place, "cached keys", 4);
  Prompt prompt{};
  prompt.rows = shape[0], prompt.shared = shape[1], prompt.capacity = shape[2], prompt.width = shape[3];
  check_heads(prompt.shared, prompt.width);
  context.input<float>(place + 1, "cached values", {shape[0], shape[1], shape[2], shape[3]});
  prompt.heads = heads_of(packed[1], prompt.shared, prompt.width);
  prompt.length = prompt.rows == 0 ? 0 : packed[0] / prompt.rows;
  check_shape("packed", packed, {prompt.rows * prompt.length, packed[1]});
  if (context.has_input(place + 2)) prompt.first = *context.input<int32_t>(place + 2, "step", {1});
  if (prompt.first < 0 || prompt.length > prompt.capacity - prompt.first) {
    throw std::invalid_argument(std::to_string(prompt.length) + " tokens from place " +
                                std::to_string(prompt.first) + " on do not fit into a cache of " +
                                std::to_string(prompt.capacity));
  }
  return prompt;
}

void FillCache::compute(Context& context) const {
  const Prompt prompt = Prompt::read(context, 1);
  const int64_t width = prompt.width, model = prompt.heads * width, of_keys = prompt.shared * width;
  const Shape shape = context.shape(1);
  const size_t size = width * sizeof(float);
  for (size_t kind = 0; kind < 2; ++kind) {
    const float* from = context.input<float>(0) + model + kind * of_keys;
    float* cache = cache_of(context, 1 + kind, kind, shape);
    for (int64_t row = 0; row < prompt.rows; ++row) {
      for (int64_t t = 0; t < prompt.length; ++t, from += model + 2 * of_keys) {
        for (int64_t head = 0; head < prompt.shared; ++head) {
          const int64_t place = (row * prompt.shared + head) * prompt.capacity + prompt.first + t;
          std::memcpy(cache + place * width, from + head * width, size);
        }
      }
    }
  }
}

}  // namespace keras_transformer
