// The products of `linear.h` in the namespace KT_INSTRUCTIONS. Before a file includes this, it
// defines that name and, in the namespace, beside what `byte_tiles.h` needs,
//
//   Wide           a vector of floats
//   Weights        two weights of sixteen outputs as words, which `widen` makes from bytes
//   multiply_add   to each of sixteen sums the products of its weights with two words of a row
//   kLinearTall, kLinearBroad, kLinearLone    rows and blocks of a tile, and blocks of one row's
#include <algorithm>
#include <cstring>

#include "linear.h"
#include "vectors.h"

namespace keras_transformer::KT_INSTRUCTIONS {

KT_INLINE void finish(const Linear& layer, int64_t block, const Sums& sums, float step,
                      float* output) {
  constexpr int64_t kWide = sizeof(Wide) / sizeof(float);
  using WideInts = decltype(Wide{} < Wide{});
  const float* ends = layer.ends + block * 2 * kBlock;
  const int64_t first = block * kBlock;
  const int64_t count = std::min<int64_t>(kBlock, layer.outputs - first);
  float outputs[kBlock];
  float* to = count == kBlock ? output + first : outputs;
  for (int64_t i = 0; i < kBlock; i += kWide) {
    WideInts part;
    std::memcpy(&part, reinterpret_cast<const int32_t*>(&sums) + i, sizeof part);
    Wide factors, values;
    std::memcpy(&factors, ends + i, sizeof factors);
    std::memcpy(&values, ends + kBlock + i, sizeof values);
    values += __builtin_convertvector(part, Wide) * (factors * step);
    values = values < layer.floor ? Wide{} + layer.floor : values;
    std::memcpy(to + i, &values, sizeof values);
  }
  if (count < kBlock) std::copy(outputs, outputs + count, output + first);
}

template <int kRows, int kBlocks>
KT_INLINE void tile(const Linear& layer, int64_t block, const int16_t* words, const float* steps,
                    float* output) {
  const int64_t of_pair = kBlock * kPair, of_block = layer.pairs * of_pair;
  const int8_t* bytes = layer.bytes + block * of_block;
  Sums sums[kRows][kBlocks] = {};
  for (int64_t pair = 0; pair < layer.pairs; ++pair) {
    Weights weights[kBlocks];
    for (int b = 0; b < kBlocks; ++b) weights[b] = widen(bytes + b * of_block + pair * of_pair);
    for (int r = 0; r < kRows; ++r) {
      const int16_t* two = words + (r * layer.pairs + pair) * kPair;
      for (int b = 0; b < kBlocks; ++b) sums[r][b] = multiply_add(sums[r][b], two, weights[b]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
    for (int b = 0; b < kBlocks; ++b) {
      finish(layer, block + b, sums[r][b], steps[r], output + r * layer.outputs);
    }
  }
}

template <int kRows, int kBlocks>
KT_INLINE void strip(const Linear& layer, const int16_t* words, const float* steps, float* output) {
  const int64_t blocks = (layer.outputs + kBlock - 1) / kBlock;
  int64_t block = 0;
  for (; block + kBlocks <= blocks; block += kBlocks) {
    tile<kRows, kBlocks>(layer, block, words, steps, output);
  }
  for (; block < blocks; ++block) tile<kRows, 1>(layer, block, words, steps, output);
}

void multiply(const Linear& layer, const int16_t* words, const float* steps, int64_t rows,
              float* output) {
  const int64_t of_row = layer.pairs * kPair;
  int64_t row = 0;
  for (; row + kLinearTall <= rows; row += kLinearTall) {
    strip<kLinearTall, kLinearBroad>(layer, words + row * of_row, steps + row,
                                     output + row * layer.outputs);
  }
  for (; row < rows; ++row) {
    strip<1, kLinearLone>(layer, words + row * of_row, steps + row, output + row * layer.outputs);
  }
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
