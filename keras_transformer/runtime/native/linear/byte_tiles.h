// The products of `byte_products.h` in the namespace KT_INSTRUCTIONS. Before a file includes this,
// it defines that name and, in the namespace,
//
//   Sums               sixteen sums of 32 bits
//   load_sums, store_sums
//   multiply_add       to each of them the products of four bytes of a row with a token's four
//   kTall, kBroad      rows and blocks of a tile: enough sums to keep the processor busy, few enough
//                      for its registers
//   kParts, join       the parts that a row's sums are made in, and the function that joins them
#include "byte_products.h"

namespace keras_transformer::KT_INSTRUCTIONS {

template <int kRows, int kBlocks>
KT_INLINE void byte_tile(const ByteMatrix& m, int64_t block, const uint8_t* rows, int32_t* sums) {
  const int64_t of_row = kBytes * m.quads, of_block = m.quads * kTokens * kBytes;
  const int8_t* weights = m.bytes + block * of_block;
  Sums tile[kRows][kBlocks];
  for (int b = 0; b < kBlocks; ++b) {
    for (int r = 0; r < kRows; ++r) tile[r][b] = load_sums(m.starts + (block + b) * kTokens);
  }
  for (int64_t quad = 0; quad < m.quads; ++quad) {
    for (int r = 0; r < kRows; ++r) {
      for (int b = 0; b < kBlocks; ++b) {
        tile[r][b] = multiply_add(tile[r][b], rows + r * of_row + quad * kBytes,
                                  weights + b * of_block + quad * kTokens * kBytes);
      }
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int b = 0; b < kBlocks; ++b) store_sums(sums + r * kSumsOfRow + b * kTokens, tile[r][b]);
  }
}

// How many bytes of the matrix are fetched ahead of those being multiplied.
constexpr int64_t kAhead = 1024;

// One row and one block after the other: the matrix is read in order, as reading it takes the time.
KT_INLINE void byte_row(const ByteMatrix& m, int64_t block, int64_t count, const uint8_t* row,
                        int32_t* sums) {
  const int8_t* weights = m.bytes + block * m.quads * kTokens * kBytes;
  for (int64_t b = 0; b < count; ++b) {
    Sums parts[kParts];
    parts[0] = load_sums(m.starts + (block + b) * kTokens);
    for (int p = 1; p < kParts; ++p) parts[p] = Sums{};
    for (int64_t quad = 0; quad < m.quads; quad += kParts) {
      for (int p = 0; p < kParts; ++p) {
        __builtin_prefetch(weights + kAhead);
        parts[p] = multiply_add(parts[p], row + (quad + p) * kBytes, weights);
        weights += kTokens * kBytes;
      }
    }
    for (int p = 1; p < kParts; ++p) parts[0] = join(parts[0], parts[p]);
    store_sums(sums + b * kTokens, parts[0]);
  }
}

template <int kRows, int kBlocks>
KT_INLINE void byte_rows(const ByteMatrix& m, int64_t block, int64_t count, const uint8_t* rows,
                         int32_t* sums) {
  int64_t b = 0;
  for (; b + kBlocks <= count; b += kBlocks) {
    byte_tile<kRows, kBlocks>(m, block + b, rows, sums + b * kTokens);
  }
  for (; b < count; ++b) byte_tile<kRows, 1>(m, block + b, rows, sums + b * kTokens);
}

void sum_bytes(const ByteMatrix& m, int64_t block, int64_t count, const uint8_t* rows,
               int64_t num_rows, int32_t* sums) {
  const int64_t of_row = kBytes * m.quads;
  int64_t row = 0;
  for (; row + kTall <= num_rows; row += kTall) {
    byte_rows<kTall, kBroad>(m, block, count, rows + row * of_row, sums + row * kSumsOfRow);
  }
  for (; row < num_rows; ++row) {
    byte_row(m, block, count, rows + row * of_row, sums + row * kSumsOfRow);
  }
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
