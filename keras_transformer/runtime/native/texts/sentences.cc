#include "sentences.h"

#include <algorithm>
#include <string>

namespace keras_transformer {

Sentences read_sentences(Context& context, size_t place, int64_t rows) {
  const Shape shape = context.shape(place, "mask", 2);
  const int64_t batch = shape[0], length = shape[1];
  Sentences sentences{{}, batch, length, context.input<int32_t>(place)};
  // Without padding both layouts are the same.
  const bool is_padded = rows == batch * length;
  int64_t start = 0;
  for (int64_t sentence = 0; length > 0 && sentence < batch; ++sentence) {
    const int32_t* mask = sentences.mask + sentence * length;
    const int64_t tokens = length - std::count(mask, mask + length, 0);
    const int64_t held = is_padded ? length : tokens;
    sentences.each.push_back({start, held, tokens < held ? mask : nullptr, {}});
    if (held < length && std::count(mask, mask + held, 0) > 0) {
      for (int32_t place = 0; place < length; ++place) {
        if (mask[place] != 0) sentences.each.back().places.push_back(place);
      }
    }
    start += held;
  }
  if (start == rows) return sentences;
  throw std::invalid_argument("there must be " + std::to_string(batch * length) +
                              " rows, one for each place, or " + std::to_string(start) +
                              ", one for each token, got " + std::to_string(rows));
}

}  // namespace keras_transformer
