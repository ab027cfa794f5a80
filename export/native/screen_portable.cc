// The search of `screen.h` for any processor.
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

}  // namespace keras_transformer::KT_INSTRUCTIONS
#include "screen_search.h"
