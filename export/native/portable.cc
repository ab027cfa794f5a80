// The loops of `screen.h` and `linear.h` for any processor.
#include <algorithm>
#include <cstdint>

#include "vectors.h"

#define KT_INSTRUCTIONS portable
namespace keras_transformer::KT_INSTRUCTIONS {

// Adds to each token's sum the products of its four bytes with four of a row.
KT_INLINE Ints multiply_add(Ints sums, const uint8_t* states, const int8_t* weights) {
  for (int token = 0; token < kLanes; ++token) {
    for (int i = 0; i < 4; ++i) sums[token] += states[i] * weights[4 * token + i];
  }
  return sums;
}

KT_INLINE Words widen(const int8_t* weights) {
  Words words;
  for (int i = 0; i < 2 * kLanes; ++i) words[i] = weights[i];
  return words;
}

// Adds to each output's sum the products of its two weights with two of a row.
KT_INLINE Ints multiply_add(Ints sums, const int16_t* two, Words weights) {
  for (int output = 0; output < kLanes; ++output) {
    for (int i = 0; i < 2; ++i) sums[output] += two[i] * weights[2 * output + i];
  }
  return sums;
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "linear_tiles.h"
#include "screen_search.h"
