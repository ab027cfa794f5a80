// The products of `int4.h` in the namespace KT_INSTRUCTIONS. Before a file includes this, it defines
// that name and, in the namespace, beside what `byte_tiles.h` needs,
//
//   add_octet    to each of sixteen sums the products of an output's eight weights with a row's bytes
//   kInt4Tall    the most rows of a tile, a power of two
#include <algorithm>
#include <cstring>

#include "int4.h"
#include "vectors.h"

namespace keras_transformer::KT_INSTRUCTIONS {

// Sixteen numbers in as many registers as they need.
typedef int32_t Int4Sums __attribute__((vector_size(64)));
typedef float Int4Values __attribute__((vector_size(64)));

KT_INLINE Int4Values int4_scales(const uint8_t* bytes) {
  typedef uint16_t Halves __attribute__((vector_size(32)));
  typedef uint32_t Bits __attribute__((vector_size(64)));
  Halves upper;
  std::memcpy(&upper, bytes, sizeof upper);
  return (Int4Values)(__builtin_convertvector(upper, Bits) << 16);
}

KT_INLINE Int4Sums int4_zeros(const Int4Matrix& m, const uint8_t* bytes) {
  if (!m.has_zeros) return Int4Sums{} + kInt4Middle;
  typedef uint8_t Sixteen __attribute__((vector_size(16)));
  Sixteen zeros;
  std::memcpy(&zeros, bytes + kBlock * kScaleBytes, sizeof zeros);
  return __builtin_convertvector(zeros, Int4Sums);
}

// How many bytes of the matrix are fetched ahead of those being multiplied: so many, as scales between
// the weights keep the processor from fetching lines by itself.
constexpr int64_t kInt4Ahead = 3072;

template <int kRows>
KT_INLINE void int4_tile(const Int4Matrix& m, int64_t block, const Int4Rows& rows, int64_t row,
                         float* output) {
  const int64_t of_row = m.groups * m.octets * kOctet, of_group = m.of_group();
  const uint8_t* weights = m.bytes + block * m.groups * of_group;
  const int8_t* bytes = rows.bytes + row * of_row;
  Int4Values values[kRows];
  for (int r = 0; r < kRows; ++r) {
    std::memcpy(&values[r], m.biases + block * kBlock, sizeof values[r]);
  }
  for (int64_t group = 0; group < m.groups; ++group, weights += of_group) {
    const Int4Values scales = int4_scales(weights);
    const Int4Sums zeros = int4_zeros(m, weights);
    const uint8_t* octets = weights + m.first_octet();
    Sums sums[kRows] = {};
    for (int64_t octet = 0; octet < m.octets; ++octet, bytes += kOctet, octets += kBlock * 4) {
      __builtin_prefetch(octets + kInt4Ahead);
      for (int r = 0; r < kRows; ++r) sums[r] = add_octet(sums[r], bytes + r * of_row, octets);
    }
    for (int r = 0; r < kRows; ++r) {
      const int64_t place = (row + r) * m.groups + group;
      Int4Sums found;
      std::memcpy(&found, &sums[r], sizeof found);
      found -= zeros * rows.sums[place];
      values[r] += __builtin_convertvector(found, Int4Values) * (scales * rows.steps[place]);
    }
  }
  const int64_t start = block * kBlock, left = std::min<int64_t>(kBlock, m.outputs - start);
  for (int r = 0; r < kRows; ++r) {
    const Int4Values raised = values[r] < m.floor ? Int4Values{} + m.floor : values[r];
    std::memcpy(output + (row + r) * m.outputs + start, &raised, left * sizeof(float));
  }
}

// As many rows at a time as there are, and as registers hold sums of.
template <int kRows>
KT_INLINE void int4_block(const Int4Matrix& m, int64_t block, const Int4Rows& rows, int64_t row,
                          int64_t count, float* output) {
  for (; row + kRows <= count; row += kRows) int4_tile<kRows>(m, block, rows, row, output);
  if constexpr (kRows > 1) int4_block<kRows / 2>(m, block, rows, row, count, output);
}

void multiply_int4(const Int4Matrix& m, int64_t first, int64_t last, const Int4Rows& rows,
                   int64_t count, float* output) {
  for (int64_t block = first; block < last; ++block) {
    int4_block<kInt4Tall>(m, block, rows, 0, count, output);
  }
}

}  // namespace keras_transformer::KT_INSTRUCTIONS
