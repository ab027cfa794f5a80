// Products with weights in float32, compiled for several sets of instructions.
//
// Every output is one sum, of its bias and of one product after the other, whatever rows are multiplied
// together: a row is the same to the last bit in any batch.
#pragma once

#include <cstdint>

#include "instructions.h"
#include "linear.h"

namespace keras_transformer {

struct Float32Matrix {
  int64_t inputs, outputs;
  const float* weights;  // (blocks, inputs, 16)
  const float* biases;   // (blocks, 16)

  int64_t blocks() const { return (outputs + kBlock - 1) / kBlock; }
};

// Rows that are multiplied, and what becomes of the products: from one row to the next there are so
// many numbers, and outputs are raised to the floor.
struct Float32Rows {
  const float* values;
  int64_t count, stride;
  float* output;
  int64_t output_stride;
  float floor;
};

// Multiplies rows by the blocks from `first` to `last`; a row's output is the first of these.
using MultiplyFloat32 = void (*)(const Float32Matrix&, int64_t first, int64_t last,
                                 const Float32Rows&);

#define KT_DECLARE(set)                                                                         \
  namespace set {                                                                               \
  void multiply_float32(const Float32Matrix&, int64_t first, int64_t last, const Float32Rows&); \
  }
KT_DECLARE(portable)
#ifdef KT_X86
KT_DECLARE(avx2)
KT_DECLARE(vnni)
#endif
#undef KT_DECLARE

}  // namespace keras_transformer
