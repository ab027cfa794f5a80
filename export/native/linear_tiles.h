// The products of `linear.h` in the namespace KT_INSTRUCTIONS: who includes this defines that name
// first, and `widen` and `multiply_add` there.
#include <algorithm>
#include <iterator>

#include "linear.h"
#include "vectors.h"

namespace keras_transformer::KT_INSTRUCTIONS {

KT_INLINE void finish(const Linear& layer, int64_t block, Ints sums, float step, float* output) {
  const float* ends = layer.ends + block * 2 * kBlock;
  Floats values = __builtin_convertvector(sums, Floats) * (load(ends) * all(step));
  values += load(ends + kBlock);
  const Floats floor = all(layer.floor);
  values = values < floor ? floor : values;
  const int64_t first = block * kBlock;
  const int64_t count = std::min<int64_t>(kBlock, layer.outputs - first);
  if (count == kBlock) return store(output + first, values);
  store_some(output + first, values, count);
}

// The outputs of kRows rows in kBlocks blocks: enough sums to keep the processor busy, few enough
// for its registers.
template <int kRows, int kBlocks>
KT_INLINE void tile(const Linear& layer, int64_t block, const int16_t* words, const float* steps,
                    float* output) {
  const int64_t of_pair = kBlock * kPair, of_block = layer.pairs * of_pair;
  const int8_t* bytes = layer.bytes + block * of_block;
  Ints sums[kRows][kBlocks];
  for (auto& of_row : sums) std::fill(std::begin(of_row), std::end(of_row), Ints{});
  for (int64_t pair = 0; pair < layer.pairs; ++pair) {
    Words weights[kBlocks];
    for (int b = 0; b < kBlocks; ++b) weights[b] = widen(bytes + b * of_block + pair * of_pair);
    for (int r = 0; r < kRows; ++r) {
      const int16_t* two = words + (r * layer.pairs + pair) * kPair;
      for (int b = 0; b < kBlocks; ++b) sums[r][b] = multiply_add(sums[r][b], two, weights[b]);
    }
  }
#pragma GCC unroll 2
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) {
      finish(layer, block + b, sums[r][b], steps[r], output + r * layer.outputs);
    }
  }
}

template <int kBlocks>
KT_INLINE void column(const Linear& layer, int64_t block, const int16_t* words, const float* steps,
                      int64_t rows, float* output) {
  const int64_t of_row = layer.pairs * kPair;
  int64_t row = 0;
  for (; row + 2 <= rows; row += 2) {
    tile<2, kBlocks>(layer, block, words + row * of_row, steps + row, output + row * layer.outputs);
  }
  if (row < rows) {
    tile<1, kBlocks>(layer, block, words + row * of_row, steps + row, output + row * layer.outputs);
  }
}

void multiply(const Linear& layer, const int16_t* words, const float* steps, int64_t rows,
              float* output) {
  const int64_t blocks = (layer.outputs + kBlock - 1) / kBlock;
  int64_t block = 0;
  for (; block + 4 <= blocks; block += 4) column<4>(layer, block, words, steps, rows, output);
  for (; block < blocks; ++block) column<1>(layer, block, words, steps, rows, output);
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
