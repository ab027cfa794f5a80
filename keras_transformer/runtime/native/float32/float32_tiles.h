// The products of `float32.h` in the namespace KT_INSTRUCTIONS. Before a file includes this, it defines
// that name and, in the namespace,
//
//   Wide           a vector of floats
//   kFloatTall, kFloatBroad    rows and blocks of a tile, whose sums stay in registers
//   kFloatLone                 blocks of a tile of one row, enough to keep the processor busy
#include <algorithm>
#include <type_traits>

#include "float32.h"
#include "vectors.h"

namespace keras_transformer::KT_INSTRUCTIONS {

template <int kRows, int kBlocks>
KT_INLINE void float_tile(const Float32Matrix& m, int64_t block, int64_t first,
                          const Float32Rows& rows) {
  constexpr int kWide = kLanesOf<Wide>, kParts = kBlock / kWide, kAll = kBlocks * kParts;
  const float* weights = m.weights + block * m.inputs * kBlock;
  Wide sums[kRows][kAll];
  for (int part = 0; part < kAll; ++part) {
    for (int r = 0; r < kRows; ++r) {
      sums[r][part] = load<Wide>(m.biases + block * kBlock + part * kWide);
    }
  }
  for (int64_t i = 0; i < m.inputs; ++i) {
    Wide of_input[kAll];
    for (int part = 0; part < kAll; ++part) {
      const int64_t of_block = part / kParts * m.inputs + i;
      of_input[part] = load<Wide>(weights + of_block * kBlock + part % kParts * kWide);
    }
    for (int r = 0; r < kRows; ++r) {
      const float value = rows.values[r * rows.stride + i];
      for (int part = 0; part < kAll; ++part) sums[r][part] += of_input[part] * value;
    }
  }
  float* output = rows.output + (block - first) * kBlock;
  const int64_t left = m.outputs - block * kBlock;
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int part = 0; part < kAll; ++part) {
      Wide found = sums[r][part];
      found = found < rows.floor ? Wide{} + rows.floor : found;  // NaN stays.
      float* to = output + r * rows.output_stride + part * kWide;
      if (left >= (part + 1) * kWide) {
        store(to, found);
      } else if (left > part * kWide) {
        store_some(to, found, left - part * kWide);
      }
    }
  }
}

// The rows of a tile, at most kRows of them.
template <int kRows, int kBlocks>
KT_INLINE void float_tiles(const Float32Matrix& m, int64_t block, int64_t first,
                           const Float32Rows& rows) {
  if (rows.count >= kRows) return float_tile<kRows, kBlocks>(m, block, first, rows);
  if constexpr (kRows > 1) float_tiles<kRows - 1, kBlocks>(m, block, first, rows);
}

// The blocks are read once, by all rows.
template <int kTall, int kBroad>
KT_INLINE void float_strip(const Float32Matrix& m, int64_t first, int64_t last,
                           const Float32Rows& rows) {
  const auto multiply = [&](int64_t block, auto broad) KT_INLINE_LAMBDA {
    for (int64_t row = 0; row < rows.count; row += kTall) {
      Float32Rows some = rows;
      some.values += row * rows.stride, some.output += row * rows.output_stride;
      some.count = rows.count - row;
      float_tiles<kTall, decltype(broad)::value>(m, block, first, some);
    }
  };
  int64_t block = first;
  for (; block + kBroad <= last; block += kBroad) {
    multiply(block, std::integral_constant<int, kBroad>());
  }
  for (; block < last; ++block) multiply(block, std::integral_constant<int, 1>());
}

void multiply_float32(const Float32Matrix& m, int64_t first, int64_t last,
                      const Float32Rows& rows) {
  if (rows.count == 1) return float_strip<1, kFloatLone>(m, first, last, rows);
  float_strip<kFloatTall, kFloatBroad>(m, first, last, rows);
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
