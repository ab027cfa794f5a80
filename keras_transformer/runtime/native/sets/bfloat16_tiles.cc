// The products of `bfloat16.h` with AMX: sixteen rows by sixteen outputs in one instruction.
#include "bfloat16.h"
#ifdef KT_X86
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "target.h"

KT_TARGET("amx-tile,amx-bf16")
namespace keras_transformer::amx {
namespace {

constexpr int64_t kTileBytes = 64;
// Four tiles of sums, two of rows, and two of the matrix. GCC copies these numbers into assembly.
#define KT_SUMS_00 0
#define KT_SUMS_01 1
#define KT_SUMS_10 2
#define KT_SUMS_11 3
#define KT_ROWS_0 4
#define KT_ROWS_1 5
#define KT_BLOCK_0 6
#define KT_BLOCK_1 7

// Eight full tiles, as the processor reads it, byte by byte.
struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Stores sixteen rows of a block's outputs, of which only some exist: `store(to, stride)` stores all of
// a tile.
template <typename Store>
void store_some(float* output, int64_t stride, int64_t rows, int64_t outputs, const Store& store) {
  if (rows >= kRowsOfTile && outputs >= kBlock) return store(output, stride * sizeof(float));
  alignas(64) float sums[kRowsOfTile * kBlock];
  store(sums, kTileBytes);
  const int64_t count = std::min<int64_t>(outputs, kBlock);
  for (int64_t row = 0; row < std::min(rows, kRowsOfTile); ++row) {
    std::memcpy(output + row * stride, sums + row * kBlock, count * sizeof(float));
  }
}
#define KT_STORE(tile) [](float* to, int64_t stride) { _tile_stored(tile, to, stride); }

// Every row of a tile of sums starts with the same values, the biases of its block.
constexpr int64_t kSameRow = 0;

template <bool kTwoRows, bool kTwoBlocks>
void multiply_tiles(const Bfloat16Matrix& m, int64_t block, const uint16_t* rows, int64_t count,
                    float* output) {
  const int64_t of_row = m.width() * sizeof(uint16_t);
  const float* biases = m.biases + block * kBlock;
  const uint16_t *weights = m.block(block), *more_weights = m.block(block + 1);
  const uint16_t* more_rows = rows + kRowsOfTile * m.width();
  _tile_loadd(KT_SUMS_00, biases, kSameRow);
  if (kTwoBlocks) _tile_loadd(KT_SUMS_01, biases + kBlock, kSameRow);
  if (kTwoRows) _tile_loadd(KT_SUMS_10, biases, kSameRow);
  if (kTwoRows && kTwoBlocks) _tile_loadd(KT_SUMS_11, biases + kBlock, kSameRow);
  for (int64_t pair = 0; pair < m.pairs; pair += kPairs) {
    const int64_t of_tile = pair * kPair * kBlock;
    _tile_loadd(KT_ROWS_0, rows + pair * kPair, of_row);
    _tile_loadd(KT_BLOCK_0, weights + of_tile, kTileBytes);
    _tile_dpbf16ps(KT_SUMS_00, KT_ROWS_0, KT_BLOCK_0);
    if (kTwoRows) _tile_loadd(KT_ROWS_1, more_rows + pair * kPair, of_row);
    if (kTwoRows) _tile_dpbf16ps(KT_SUMS_10, KT_ROWS_1, KT_BLOCK_0);
    if (kTwoBlocks) _tile_loadd(KT_BLOCK_1, more_weights + of_tile, kTileBytes);
    if (kTwoBlocks) _tile_dpbf16ps(KT_SUMS_01, KT_ROWS_0, KT_BLOCK_1);
    if (kTwoRows && kTwoBlocks) _tile_dpbf16ps(KT_SUMS_11, KT_ROWS_1, KT_BLOCK_1);
  }
  const int64_t stride = m.outputs, left = stride - block * kBlock, more = count - kRowsOfTile;
  float* more_output = output + kRowsOfTile * stride;
  store_some(output, stride, count, left, KT_STORE(KT_SUMS_00));
  if (kTwoBlocks) store_some(output + kBlock, stride, count, left - kBlock, KT_STORE(KT_SUMS_01));
  if (kTwoRows) store_some(more_output, stride, more, left, KT_STORE(KT_SUMS_10));
  if (kTwoRows && kTwoBlocks) {
    store_some(more_output + kBlock, stride, more, left - kBlock, KT_STORE(KT_SUMS_11));
  }
}

template <bool kTwoBlocks>
void multiply_rows(const Bfloat16Matrix& m, int64_t block, const uint16_t* rows, int64_t count,
                   float* output) {
  output += block * kBlock;
  int64_t row = 0;
  for (; row + kRowsOfTile < count; row += 2 * kRowsOfTile) {
    multiply_tiles<true, kTwoBlocks>(m, block, rows + row * m.width(), count - row,
                                     output + row * m.outputs);
  }
  if (row >= count) return;
  multiply_tiles<false, kTwoBlocks>(m, block, rows + row * m.width(), count - row,
                                    output + row * m.outputs);
}

}  // namespace

void multiply(const Bfloat16Matrix& m, int64_t first, int64_t last, const uint16_t* rows,
              int64_t count, float* output) {
  const Configuration tiles;
  // GCC assumes that only the first bytes are read.
  asm volatile("" ::"r"(&tiles) : "memory");
  _tile_loadconfig(&tiles);
  int64_t block = first;
  for (; block + 2 <= last; block += 2) multiply_rows<true>(m, block, rows, count, output);
  if (block < last) multiply_rows<false>(m, block, rows, count, output);
  // onnxruntime's own products check whether the registers are configured as they left them.
  _tile_release();
}

}  // namespace keras_transformer::amx
KT_END_TARGET
#endif
