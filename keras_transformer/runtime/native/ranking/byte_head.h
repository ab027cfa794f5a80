// A vocabulary's matrix in bytes, as stored in a node, and states in bytes to multiply it by.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "byte_products.h"
#include "operator.h"

namespace keras_transformer {

// States x, rounded to x̂.
struct ByteRows {
  std::vector<uint8_t> bytes;               // (rows, 4 · quads): x̂ / step + 128
  std::vector<float> steps, norms, errors;  // (rows): step, ‖x‖ and ‖x - x̂‖
};

// Lends each thread the lowest free place of 32.
class Places {
 public:
  int64_t take() {
    uint32_t taken = taken_.load();
    while (!taken_.compare_exchange_weak(taken, taken | (taken + 1))) continue;
    return __builtin_ctz(~taken);
  }

  void leave(int64_t place) { taken_.fetch_and(~(uint32_t{1} << place)); }

 private:
  std::atomic<uint32_t> taken_{0};
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

  // How many threads may read sums of this many rows at a time.
  int64_t readers(int64_t rows) const {
    const int64_t wanted = 1 + matrix_.blocks * matrix_.quads * rows / kPart;
    return std::min({kMostParts, chunks(), wanted});
  }

  // Calls `use(chunk)` for every row and every kChunk blocks, never twice at the same time for a
  // reader; there are as many readers as threads.
  template <typename Use>
  void multiply(Context& context, const ByteRows& states, int64_t rows, const Use& use) const {
    const int64_t parts = readers(rows);
    Places places;
    context.parallel_for(parts, kPart, [&](int64_t first, int64_t last) {
      const int64_t reader = places.take();
      for (int64_t chunk = chunks() * first / parts; chunk < chunks() * last / parts; ++chunk) {
        multiply_chunk(reader, chunk * kChunk, states, rows, use);
      }
      places.leave(reader);
    });
  }

 private:
  // Products of four bytes with sixteen tokens, each at most a nanosecond, that are worth waking a
  // thread for.
  static constexpr int64_t kPart = 1 << 16, kMostParts = 16;

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
