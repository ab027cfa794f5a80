// The products of `bfloat16.h` with AVX-512's BF16, which multiplies pairs.
#include "bfloat16.h"
#ifdef KT_X86
#include <immintrin.h>

#include <algorithm>

#include "target.h"

KT_TARGET("avx512f,avx512bw,avx512vl,avx512bf16")
namespace keras_transformer::bf16 {
namespace {

// Rows and blocks that are multiplied at a time, and blocks of a row that is left: enough sums to
// keep the processor busy, few enough for its registers.
constexpr int kTall = 4, kBroad = 4, kLone = 8;

template <int kRows, int kBlocks>
KT_INLINE void tile(const Bfloat16Matrix& m, int64_t block, const uint16_t* rows, float* output) {
  __m512 sums[kRows][kBlocks];
  for (int b = 0; b < kBlocks; ++b) {
    for (int r = 0; r < kRows; ++r) sums[r][b] = _mm512_loadu_ps(m.biases + (block + b) * kBlock);
  }
  for (int64_t pair = 0; pair < m.pairs; ++pair) {
    __m512i weights[kBlocks];
    for (int b = 0; b < kBlocks; ++b) {
      weights[b] = _mm512_loadu_si512(m.block(block + b) + pair * kPair * kBlock);
    }
    for (int r = 0; r < kRows; ++r) {
      int32_t two;
      std::memcpy(&two, rows + r * m.width() + pair * kPair, sizeof two);
      const __m512i same = _mm512_set1_epi32(two);
      for (int b = 0; b < kBlocks; ++b) {
        sums[r][b] = _mm512_dpbf16_ps(sums[r][b], (__m512bh)same, (__m512bh)weights[b]);
      }
    }
  }
  for (int b = 0; b < kBlocks; ++b) {
    const int64_t start = (block + b) * kBlock, left = std::min<int64_t>(kBlock, m.outputs - start);
    const __mmask16 there = static_cast<__mmask16>((1 << left) - 1);
    for (int r = 0; r < kRows; ++r) {
      _mm512_mask_storeu_ps(output + r * m.outputs + start, there, sums[r][b]);
    }
  }
}

template <int kRows, int kBlocks>
KT_INLINE void strip(const Bfloat16Matrix& m, int64_t first, int64_t last, const uint16_t* rows,
                     float* output) {
  int64_t block = first;
  for (; block + kBlocks <= last; block += kBlocks) tile<kRows, kBlocks>(m, block, rows, output);
  for (; block < last; ++block) tile<kRows, 1>(m, block, rows, output);
}

}  // namespace

void multiply(const Bfloat16Matrix& m, int64_t first, int64_t last, const uint16_t* rows,
              int64_t count, float* output) {
  int64_t row = 0;
  for (; row + kTall <= count; row += kTall) {
    strip<kTall, kBroad>(m, first, last, rows + row * m.width(), output + row * m.outputs);
  }
  for (; row < count; ++row) {
    strip<1, kLone>(m, first, last, rows + row * m.width(), output + row * m.outputs);
  }
}

}  // namespace keras_transformer::bf16
KT_END_TARGET
#endif
