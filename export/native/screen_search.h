// The search of `screen.h` in the namespace KT_INSTRUCTIONS: who includes this defines that name
// first, and `multiply_add` there.
#include <limits>

#include "screen.h"
#include "vectors.h"

namespace keras_transformer::KT_INSTRUCTIONS {

// Of the matrix, what all rows are multiplied by before the next: it stays in the second cache.
constexpr int64_t kNearBytes = 1 << 17;

// The products of kRows rows and kBlocks blocks: enough sums to keep the processor busy, few enough
// for its registers.
template <int kRows, int kBlocks>
KT_INLINE void products(const Screen& s, int64_t block, int64_t row, Ints (&sums)[kRows][kBlocks]) {
  const int64_t of_row = kBytes * s.quads, of_block = s.quads * kTokens * kBytes;
  const uint8_t* states = s.quantized + row * of_row;
  const int8_t* weights = s.bytes + block * of_block;
  for (int b = 0; b < kBlocks; ++b) {
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(&sums[r][b], s.starts + (block + b) * kTokens, sizeof(Ints));
    }
  }
  for (int64_t quad = 0; quad < s.quads; ++quad) {
    for (int r = 0; r < kRows; ++r) {
      for (int b = 0; b < kBlocks; ++b) {
        sums[r][b] = multiply_add(sums[r][b], states + r * of_row + quad * kBytes,
                                  weights + b * of_block + quad * kTokens * kBytes);
      }
    }
  }
}

KT_INLINE void consider(const Screen& s, int64_t block, int64_t row, Ints sums, Candidates& row_s) {
  const float* bounds = s.bounds + block * 3 * kTokens;
  const Floats step = load(bounds), error = load(bounds + kTokens);
  const Floats norm = load(bounds + 2 * kTokens);
  const Floats middle = __builtin_convertvector(sums, Floats) * step * all(s.steps[row]);
  const Floats margin = error * all(s.norms[row]) + norm * all(s.errors[row]);
  const Floats upper = middle + margin;
  if (!any(upper >= all(row_s.lower))) return;
  row_s.lower = std::max(row_s.lower, largest(middle - margin));
  row_s.blocks.push_back(block);
  row_s.uppers.resize(row_s.uppers.size() + kTokens);
  store(&row_s.uppers[row_s.uppers.size() - kTokens], upper);
}

template <int kRows, int kBlocks>
KT_INLINE void step(const Screen& s, int64_t block, int64_t row, Candidates* rows) {
  Ints sums[kRows][kBlocks];
  products(s, block, row, sums);
  for (int r = 0; r < kRows; ++r) {
    for (int b = 0; b < kBlocks; ++b) consider(s, block + b, row + r, sums[r][b], rows[row + r]);
  }
}

void search(const Screen& s, int64_t first, int64_t last, Candidates* rows) {
  for (int64_t row = 0; row < s.rows; ++row) {
    rows[row].lower = -std::numeric_limits<float>::infinity();
    rows[row].blocks.clear();
    rows[row].uppers.clear();
  }
  const int64_t near = std::max<int64_t>(4, kNearBytes / (s.quads * kTokens * kBytes));
  for (int64_t start = first; start < last; start += near) {
    const int64_t end = std::min(last, start + near);
    int64_t row = 0;
    for (; row + 4 <= s.rows; row += 4) {
      for (int64_t block = start; block < end; ++block) step<4, 1>(s, block, row, rows);
    }
    for (; row < s.rows; ++row) {
      int64_t block = start;
      for (; block + 4 <= end; block += 4) step<1, 4>(s, block, row, rows);
      for (; block < end; ++block) step<1, 1>(s, block, row, rows);
    }
  }
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
