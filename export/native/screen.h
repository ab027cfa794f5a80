// The token of the largest logit, from a matrix in bytes and a proof: what `BestToken` searches by,
// compiled for several sets of instructions.
//
// With x the states of a row, w the weights of a token and x̂ and ŵ both in bytes,
//
//   |x·w - x̂·ŵ| = |x·(w - ŵ) + (x - x̂)·ŵ| ≤ ‖x‖ ‖w - ŵ‖ + ‖x - x̂‖ ‖ŵ‖       (Cauchy-Schwarz)
//
// so that a token whose upper bound is below another one's lower bound cannot be the best. The few
// that are left are multiplied in float32. Without w, x̂·ŵ is the logit, and all bounds are 0.
#pragma once

#include <cstdint>
#include <vector>

#include "instructions.h"

namespace keras_transformer {

// Tokens in a block, and bytes of each that lie side by side.
constexpr int kTokens = 8, kBytes = 4;

struct Screen {
  int64_t rows, width, quads, vocabulary;
  const float* states;       // (rows, width)
  const uint8_t* quantized;  // (rows, 4 · quads): states / step + 128
  const float* steps;        // (rows)
  const float* norms;        // (rows): ‖x‖
  const float* errors;       // (rows): ‖x - x̂‖
  const int8_t* bytes;       // (blocks, quads, 8, 4): the matrix in bytes
  const int32_t* starts;     // (blocks, 8): -128 · Σ bytes, where sums start
  const float* bounds;       // (blocks, 3, 8): step, ‖w - ŵ‖ and ‖ŵ‖
  const float* matrix;       // (vocabulary, width), or null
};

// What is left of one row in some blocks: the largest lower bound, and the blocks that hold a token
// whose upper bound was above it then, with the upper bounds of their tokens.
struct Candidates {
  float lower;
  std::vector<int64_t> blocks;
  std::vector<float> uppers;
};

// Finds the candidates of every row within some blocks.
using Search = void (*)(const Screen&, int64_t first, int64_t last, Candidates* rows);

namespace portable {
void search(const Screen&, int64_t first, int64_t last, Candidates* rows);
}
#ifdef KT_X86
namespace avx2 {
void search(const Screen&, int64_t first, int64_t last, Candidates* rows);
}
namespace vnni {
void search(const Screen&, int64_t first, int64_t last, Candidates* rows);
}
#endif

}  // namespace keras_transformer
