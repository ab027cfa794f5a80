// The products of `bfloat16.h` for processors that multiply float32 only: weights are widened as they
// are read.
#include <algorithm>

#include "bfloat16.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// Sums of a tile: enough to keep the processor busy, few enough for its registers.
constexpr int kSums = 8;

// Widens pairs to the first of each: a bfloat16 is the upper half of a float32.
template <typename Lanes, typename Pairs>
KT_INLINE Lanes first_of(Pairs pairs) {
  return (Lanes)(pairs << 16);
}
template <typename Lanes, typename Pairs>
KT_INLINE Lanes second_of(Pairs pairs) {
  return (Lanes)(pairs & 0xffff0000u);
}

template <typename Lanes, int kRows>
KT_INLINE void multiply_block(const Bfloat16Matrix& m, int64_t block, const uint16_t* rows,
                              float* output) {
  typedef uint32_t Pairs __attribute__((vector_size(sizeof(Lanes))));
  constexpr int kWide = sizeof(Lanes) / sizeof(float), kParts = kBlock / kWide;
  const uint16_t* weights = m.block(block);
  Lanes sums[kRows][kParts];
  for (int part = 0; part < kParts; ++part) {
    for (int r = 0; r < kRows; ++r) {
      std::memcpy(&sums[r][part], m.biases + block * kBlock + part * kWide, sizeof(Lanes));
    }
  }
  for (int64_t pair = 0; pair < m.pairs; ++pair) {
    Lanes first[kParts], second[kParts];
    for (int part = 0; part < kParts; ++part) {
      Pairs two;
      std::memcpy(&two, weights + (pair * kBlock + part * kWide) * kPair, sizeof two);
      first[part] = first_of<Lanes>(two), second[part] = second_of<Lanes>(two);
    }
    for (int r = 0; r < kRows; ++r) {
      uint32_t of_row;
      std::memcpy(&of_row, rows + r * m.width() + pair * kPair, sizeof of_row);
      const Pairs same = Pairs{} + of_row;
      for (int part = 0; part < kParts; ++part) {
        sums[r][part] += first[part] * first_of<Lanes>(same);
        sums[r][part] += second[part] * second_of<Lanes>(same);
      }
    }
  }
  const int64_t start = block * kBlock, count = std::min<int64_t>(kBlock, m.outputs - start);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    std::memcpy(output + r * m.outputs + start, sums[r], count * sizeof(float));
  }
}

template <typename Lanes>
KT_INLINE void multiply(const Bfloat16Matrix& m, int64_t first, int64_t last, const uint16_t* rows,
                        int64_t count, float* output) {
  constexpr int kTall = kSums * sizeof(Lanes) / sizeof(Wide);
  int64_t row = 0;
  for (; row + kTall <= count; row += kTall) {
    for (int64_t block = first; block < last; ++block) {
      multiply_block<Lanes, kTall>(m, block, rows + row * m.width(), output + row * m.outputs);
    }
  }
  for (; row < count; ++row) {
    for (int64_t block = first; block < last; ++block) {
      multiply_block<Lanes, 1>(m, block, rows + row * m.width(), output + row * m.outputs);
    }
  }
}

}  // namespace

void multiply_widened(const Bfloat16Matrix& m, int64_t first, int64_t last, const uint16_t* rows,
                      int64_t count, float* output) {
  if (has_wide_registers()) {
    return fastest<multiply<Wide>>(m, first, last, rows, count, output);
  }
  fastest<multiply<Floats>>(m, first, last, rows, count, output);
}

}  // namespace keras_transformer
