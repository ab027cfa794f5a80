// Products of rows in bytes with weights in 4 bits, compiled for several sets of instructions.
//
// Inputs come in groups: of each group an output's weights share a scale and perhaps a zero point, and
// a row's values share a step. Sums within a group are integers; sums of groups are made in one order,
// so that a row is the same to the last bit in any batch.
#pragma once

#include <cstdint>

#include "instructions.h"
#include "linear.h"

namespace keras_transformer {

// Inputs whose weights lie together: a byte holds two of an output's, the first in its lower half.
constexpr int kOctet = 8;
// Weights without zero points of their own are integers less this.
constexpr int kInt4Middle = 8;
// Bytes that hold a scale, which is a bfloat16.
constexpr int kScaleBytes = 2;

// bytes (blocks, groups, lines, 16): of each group first the scales of sixteen outputs, then their zero
// points, if there are any, then octet by octet four bytes of each output.
struct Int4Matrix {
  int64_t groups, octets, outputs;  // octets of a group
  bool has_zeros;
  const uint8_t* bytes;
  const float* biases;  // (blocks, 16)
  float floor;          // the floor that outputs are raised to: 0 is ReLU

  int64_t first_octet() const { return kBlock * (kScaleBytes + has_zeros); }
  int64_t of_group() const { return first_octet() + octets * kBlock * kOctet / 2; }
};

struct Int4Rows {
  const int8_t* bytes;  // (rows, groups · octets, 8): of each octet the even values come first
  const int32_t* sums;  // (rows, groups): the sum of a group's bytes
  const float* steps;   // (rows, groups)
};

// rows → output (count, outputs), of which the outputs of the blocks from `first` to `last` are
// written.
using MultiplyInt4 = void (*)(const Int4Matrix&, int64_t first, int64_t last, const Int4Rows& rows,
                              int64_t count, float* output);

#define KT_DECLARE(set)                                                                           \
  namespace set {                                                                                 \
  void multiply_int4(const Int4Matrix&, int64_t first, int64_t last, const Int4Rows& rows,        \
                     int64_t count, float* output);                                               \
  }
KT_DECLARE(portable)
#if defined(KT_X86)
KT_DECLARE(avx2)
KT_DECLARE(avxvnni)
KT_DECLARE(vnni)
#elif defined(KT_ARM)
KT_DECLARE(dotprod)
#endif
#undef KT_DECLARE

inline MultiplyInt4 fastest_multiply_int4() {
#if defined(KT_X86)
  if (instructions() == Instructions::kAvxVnni) return avxvnni::multiply_int4;
#elif defined(KT_ARM)
  if (instructions() >= Instructions::kDotprod) return dotprod::multiply_int4;
#endif
  return KT_FASTEST(multiply_int4);
}

}  // namespace keras_transformer
