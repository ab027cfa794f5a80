// The search of `screen.h` within the namespace KT_INSTRUCTIONS, which has `multiply_add`.
#include <limits>

#include "screen.h"
#include "vectors.h"

namespace keras_transformer::KT_INSTRUCTIONS {

template <int kRows>
KT_INLINE void products(const Screen& s, const int8_t* block, int64_t row, Ints* sums) {
  const int64_t stride = kBytes * s.quads;
  const uint8_t* states = s.quantized + row * stride;
  for (int r = 0; r < kRows; ++r) sums[r] = Ints{};
  for (int64_t quad = 0; quad < s.quads; ++quad) {
    const int8_t* weights = block + quad * kTokens * kBytes;
    for (int r = 0; r < kRows; ++r) {
      sums[r] = multiply_add(sums[r], states + r * stride + quad * kBytes, weights);
    }
  }
}

KT_INLINE bool any(Ints mask) {
  Ints none{};
  return std::memcmp(&mask, &none, sizeof mask) != 0;
}

KT_INLINE void consider(const Screen& s, int64_t block, int64_t row, Ints sums, Candidates& row_s) {
  const float* bounds = s.bounds + block * 4 * kTokens;
  const Floats step = load(bounds), error = load(bounds + 2 * kTokens);
  const Floats norm = load(bounds + 3 * kTokens);
  sums -= __builtin_convertvector(load(bounds + kTokens), Ints) * s.middle;
  const Floats middle = __builtin_convertvector(sums, Floats) * step * all(s.steps[row]);
  const Floats margin = error * all(s.norms[row]) + norm * all(s.errors[row]);
  const Floats upper = middle + margin;
  if (!any(upper >= all(row_s.lower))) return;
  row_s.lower = std::max(row_s.lower, largest(middle - margin));
  row_s.blocks.push_back(block);
  row_s.uppers.resize(row_s.uppers.size() + kTokens);
  store(&row_s.uppers[row_s.uppers.size() - kTokens], upper);
}

void search(const Screen& s, int64_t first, int64_t last, Candidates* rows) {
  for (int64_t row = 0; row < s.rows; ++row) {
    rows[row].lower = -std::numeric_limits<float>::infinity();
    rows[row].blocks.clear();
    rows[row].uppers.clear();
  }
  for (int64_t block = first; block < last; ++block) {
    const int8_t* bytes = s.bytes + block * s.quads * kTokens * kBytes;
    int64_t row = 0;
    for (Ints sums[4]; row + 4 <= s.rows; row += 4) {
      products<4>(s, bytes, row, sums);
      for (int r = 0; r < 4; ++r) consider(s, block, row + r, sums[r], rows[row + r]);
    }
    for (Ints sums[1]; row < s.rows; ++row) {
      products<1>(s, bytes, row, sums);
      consider(s, block, row, sums[0], rows[row]);
    }
  }
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
