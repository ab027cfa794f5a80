// The products of `byte_products.h` with AMX: sixteen rows by sixteen tokens in one instruction.
#include "byte_products.h"
#ifdef KT_X86
#include <immintrin.h>

#include <cstdint>
#include <initializer_list>

#include "target.h"

KT_TARGET("amx-tile,amx-int8")
namespace keras_transformer::amx {
namespace {

// A tile has up to 16 rows of 64 bytes.
constexpr int64_t kTileRows = 16, kTileBytes = 64;
// Four tiles of sums, two of rows, and two of the matrix. GCC copies these numbers into assembly.
#define KT_SUMS_00 0
#define KT_SUMS_01 1
#define KT_SUMS_10 2
#define KT_SUMS_11 3
#define KT_ROWS_0 4
#define KT_ROWS_1 5
#define KT_BLOCK_0 6
#define KT_BLOCK_1 7

// The tile configuration as the processor reads it, byte by byte.
struct alignas(64) Configuration {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};

// Sums of the rows in tiles 0 and 1, of `first` and `second` rows.
void configure(int64_t first, int64_t second) {
  Configuration tiles;
  for (const int tile : {KT_BLOCK_0, KT_BLOCK_1}) tiles.rows[tile] = kTileRows;
  for (const int tile : {KT_SUMS_00, KT_SUMS_01, KT_ROWS_0}) tiles.rows[tile] = first;
  for (const int tile : {KT_SUMS_10, KT_SUMS_11, KT_ROWS_1}) tiles.rows[tile] = second;
  for (int tile = 0; tile < 8; ++tile) tiles.bytes[tile] = tiles.rows[tile] ? kTileBytes : 0;
  // GCC assumes that only the first bytes are read.
  asm volatile("" ::"r"(&tiles) : "memory");
  _tile_loadconfig(&tiles);
}

// Every row of a tile of sums starts with the same values, the starts of its block.
constexpr int64_t kSameRow = 0;

template <bool kTwoRows, bool kTwoBlocks>
void multiply(const ByteMatrix& m, int64_t block, const uint8_t* rows, int32_t* sums) {
  const int64_t of_row = kBytes * m.quads, of_block = m.quads * kTileBytes;
  const int64_t of_sums = kSumsOfRow * sizeof(int32_t);
  const int32_t* starts = m.starts + block * kTokens;
  const int8_t* weights = m.bytes + block * of_block;
  const uint8_t* more_rows = rows + kTileRows * of_row;
  int32_t* more_sums = sums + kTileRows * kSumsOfRow;
  _tile_loadd(KT_SUMS_00, starts, kSameRow);
  if (kTwoBlocks) _tile_loadd(KT_SUMS_01, starts + kTokens, kSameRow);
  if (kTwoRows) _tile_loadd(KT_SUMS_10, starts, kSameRow);
  if (kTwoRows && kTwoBlocks) _tile_loadd(KT_SUMS_11, starts + kTokens, kSameRow);
  for (int64_t quad = 0; quad < m.quads; quad += kQuads) {
    _tile_loadd(KT_ROWS_0, rows + quad * kBytes, of_row);
    _tile_loadd(KT_BLOCK_0, weights + quad * kTileBytes, kTileBytes);
    _tile_dpbusd(KT_SUMS_00, KT_ROWS_0, KT_BLOCK_0);
    if (kTwoRows) _tile_loadd(KT_ROWS_1, more_rows + quad * kBytes, of_row);
    if (kTwoRows) _tile_dpbusd(KT_SUMS_10, KT_ROWS_1, KT_BLOCK_0);
    if (kTwoBlocks) _tile_loadd(KT_BLOCK_1, weights + of_block + quad * kTileBytes, kTileBytes);
    if (kTwoBlocks) _tile_dpbusd(KT_SUMS_01, KT_ROWS_0, KT_BLOCK_1);
    if (kTwoRows && kTwoBlocks) _tile_dpbusd(KT_SUMS_11, KT_ROWS_1, KT_BLOCK_1);
  }
  _tile_stored(KT_SUMS_00, sums, of_sums);
  if (kTwoBlocks) _tile_stored(KT_SUMS_01, sums + kTokens, of_sums);
  if (kTwoRows) _tile_stored(KT_SUMS_10, more_sums, of_sums);
  if (kTwoRows && kTwoBlocks) _tile_stored(KT_SUMS_11, more_sums + kTokens, of_sums);
}

template <bool kTwoRows>
void multiply_all(const ByteMatrix& m, int64_t block, int64_t count, const uint8_t* rows,
                  int32_t* sums) {
  int64_t b = 0;
  for (; b + 2 <= count; b += 2) {
    multiply<kTwoRows, true>(m, block + b, rows, sums + b * kTokens);
  }
  if (b < count) multiply<kTwoRows, false>(m, block + b, rows, sums + b * kTokens);
}

}  // namespace

void sum_bytes(const ByteMatrix& m, int64_t block, int64_t count, const uint8_t* rows,
               int64_t num_rows, int32_t* sums) {
  // So few rows take VNNI no longer than reading the matrix, and need no configuration.
  if (num_rows <= 4) return vnni::sum_bytes(m, block, count, rows, num_rows, sums);
  if (num_rows > kTileRows) {
    configure(kTileRows, num_rows - kTileRows);
    multiply_all<true>(m, block, count, rows, sums);
  } else {
    configure(num_rows, 0);
    multiply_all<false>(m, block, count, rows, sums);
  }
  // onnxruntime's own products check whether the registers are configured as they left them.
  _tile_release();
}

}  // namespace keras_transformer::amx
KT_END_TARGET
#endif
