// Rows in bytes times a vocabulary's matrix in bytes, compiled for several sets of instructions.
//
// Sums are integers, which do not depend on the order of summing: a row's sums are the same in any
// batch.
#pragma once

#include <cstdint>

#include "instructions.h"

namespace keras_transformer {

// Tokens in a block, bytes of each token stored together, and the number that the count of such
// quads is a multiple of: sixteen quads of a block are a tile of AMX.
constexpr int kTokens = 16, kBytes = 4, kQuads = 16;
// Blocks and rows that are multiplied at a time: their sums stay in the first cache.
constexpr int64_t kChunk = 16, kGroup = 32;
constexpr int64_t kSumsOfRow = kChunk * kTokens;

struct ByteMatrix {
  int64_t blocks, quads;
  const int8_t* bytes;    // (blocks, quads, 16, 4)
  const int32_t* starts;  // (blocks, 16): where sums start
};

// Multiplies rows (num_rows, 4 · quads) by blocks: sums (num_rows, kSumsOfRow), of which each row's
// first 16 · count are written. At most kChunk blocks and kGroup rows.
using SumBytes = void (*)(const ByteMatrix&, int64_t block, int64_t count, const uint8_t* rows,
                          int64_t num_rows, int32_t* sums);

#define KT_DECLARE(set)                                                                         \
  namespace set {                                                                               \
  void sum_bytes(const ByteMatrix&, int64_t block, int64_t count, const uint8_t* rows,          \
                 int64_t num_rows, int32_t* sums);                                              \
  }
KT_DECLARE(portable)
#if defined(KT_X86)
KT_DECLARE(avx2)
KT_DECLARE(avxvnni)
KT_DECLARE(vnni)
KT_DECLARE(amx)
#elif defined(KT_ARM)
KT_DECLARE(dotprod)
KT_DECLARE(i8mm)
#endif
#undef KT_DECLARE

inline SumBytes fastest_sum_bytes() {
#if defined(KT_X86)
  if (instructions() == Instructions::kAmx) return amx::sum_bytes;
  if (instructions() == Instructions::kAvxVnni) return avxvnni::sum_bytes;
#elif defined(KT_ARM)
  if (instructions() == Instructions::kI8mm) return i8mm::sum_bytes;
  if (instructions() == Instructions::kDotprod) return dotprod::sum_bytes;
#endif
  return KT_FASTEST(sum_bytes);
}

}  // namespace keras_transformer
