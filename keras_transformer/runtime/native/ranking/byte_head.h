// A vocabulary's matrix in bytes, as stored in a node, and states in bytes to multiply it by.
#pragma once

#include <algorithm>
#include <vector>

#include "byte_products.h"
#include "operator.h"
#include "readers.h"

namespace keras_transformer {

// States x, rounded to x̂.
struct ByteRows {
  std::vector<uint8_t> bytes;               // (rows, 4 · quads): x̂ / step + 128
  std::vector<float> steps, norms, errors;  // (rows): step, ‖x‖ and ‖x - x̂‖
};

// The sums of a row with some blocks, and the number of the thread that reads them.
struct Chunk {
  int64_t reader, row, block, count;
  const int32_t* sums;
};

class ByteHead {
 public:
  // Reads the matrix (blocks, quads, 16, 4), where its sums start (blocks, 16), and of each token
  // (blocks, 3, 16) the step, ‖w - ŵ‖ and ‖ŵ‖.
  ByteHead(const Node& node, size_t place);

  int64_t vocabulary() const { return vocabulary_; }
  int64_t chunks() const { return (matrix_.blocks + kChunk - 1) / kChunk; }
  const float* bounds(int64_t block) const { return bounds_ + block * 3 * kTokens; }

  // Rounds states (rows, width); the result is valid until this thread's next call.
  const ByteRows& round(const float* states, int64_t rows, int64_t width) const;

  // Those that read sums of this many rows: a product of four bytes with sixteen tokens takes at most
  // a nanosecond.
  Readers readers(int64_t rows) const {
    return {chunks(), static_cast<double>(matrix_.blocks * matrix_.quads * rows)};
  }

  // Calls `use(chunk)` for every row and every kChunk blocks, never twice at the same time for a
  // reader.
  template <typename Use>
  void multiply(Context& context, const ByteRows& states, int64_t rows, const Use& use) const {
    readers(rows).run(context, [&](int64_t reader, int64_t chunk) {
      multiply_chunk(reader, chunk * kChunk, states, rows, use);
    });
  }

 private:
  template <typename Use>
  void multiply_chunk(int64_t reader, int64_t block, const ByteRows& states, int64_t rows,
                      const Use& use) const {
    static const SumBytes sum_bytes = fastest_sum_bytes();
    alignas(64) int32_t sums[kGroup * kSumsOfRow];
    const int64_t count = std::min(kChunk, matrix_.blocks - block);
    for (int64_t row = 0; row < rows; row += kGroup) {
      const int64_t group = std::min(kGroup, rows - row);
      const uint8_t* bytes = states.bytes.data() + row * matrix_.quads * kBytes;
      sum_bytes(matrix_, block, count, bytes, group, sums);
      for (int64_t r = 0; r < group; ++r) {
        use(Chunk{reader, row + r, block, count, sums + r * kSumsOfRow});
      }
    }
  }

  int64_t vocabulary_;
  ByteMatrix matrix_;
  const float* bounds_;
};

}  // namespace keras_transformer
