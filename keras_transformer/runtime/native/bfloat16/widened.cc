// The products of `bfloat16.h` for processors that multiply float32 only: weights are widened as they
// are read.
#include <algorithm>

#include "bfloat16.h"
#include "versions.h"

namespace keras_transformer {
namespace {

typedef float Sums __attribute__((vector_size(64)));
typedef uint32_t Pairs __attribute__((vector_size(64)));

// Rows that read each weight at a time.
constexpr int kTall = 4;

// The first and the second number of pairs: a bfloat16 is the upper half of a float32.
KT_INLINE Sums first_of(Pairs pairs) { return (Sums)(pairs << 16); }
KT_INLINE Sums second_of(Pairs pairs) { return (Sums)(pairs & 0xffff0000u); }

template <int kRows>
KT_INLINE void multiply_block(const Bfloat16Matrix& m, int64_t block, const uint16_t* rows,
                              float* output) {
  const uint16_t* weights = m.block(block);
  Sums sums[kRows];
  for (Sums& sum : sums) std::memcpy(&sum, m.biases + block * kBlock, sizeof sum);
  for (int64_t pair = 0; pair < m.pairs; ++pair) {
    Pairs two;
    std::memcpy(&two, weights + pair * kPair * kBlock, sizeof two);
    const Sums first = first_of(two), second = second_of(two);
    for (int r = 0; r < kRows; ++r) {
      uint32_t of_row;
      std::memcpy(&of_row, rows + r * m.width() + pair * kPair, sizeof of_row);
      const Pairs same = Pairs{} + of_row;
      sums[r] += first * first_of(same);
      sums[r] += second * second_of(same);
    }
  }
  const int64_t start = block * kBlock, count = std::min<int64_t>(kBlock, m.outputs - start);
  for (int r = 0; r < kRows; ++r) {
    std::memcpy(output + r * m.outputs + start, &sums[r], count * sizeof(float));
  }
}

KT_INLINE void multiply(const Bfloat16Matrix& m, int64_t first, int64_t last, const uint16_t* rows,
                        int64_t count, float* output) {
  int64_t row = 0;
  for (; row + kTall <= count; row += kTall) {
    for (int64_t block = first; block < last; ++block) {
      multiply_block<kTall>(m, block, rows + row * m.width(), output + row * m.outputs);
    }
  }
  for (; row < count; ++row) {
    for (int64_t block = first; block < last; ++block) {
      multiply_block<1>(m, block, rows + row * m.width(), output + row * m.outputs);
    }
  }
}

}  // namespace

void multiply_widened(const Bfloat16Matrix& m, int64_t first, int64_t last, const uint16_t* rows,
                      int64_t count, float* output) {
  fastest<multiply>(m, first, last, rows, count, output);
}

}  // namespace keras_transformer
