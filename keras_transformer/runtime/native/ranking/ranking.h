// The work that beam search does for every logit, compiled for several sets of instructions.
#pragma once

#include <cstdint>
#include <limits>

#include "byte_products.h"

namespace keras_transformer {

struct Token {
  float logit;
  int32_t id;

  // Of equal logits the lowest id is the best.
  bool is_before(const Token& other) const {
    return logit > other.logit || (logit == other.logit && id < other.id);
  }
};

// The best tokens so far, best first, whatever order they came in.
struct List {
  Token* tokens;
  int64_t held, most;

  // The least value that a logit must have to be among them.
  float least() const {
    return held < most ? -std::numeric_limits<float>::infinity() : tokens[most - 1].logit;
  }

  void insert(Token token) {
    if (held == most && !token.is_before(tokens[most - 1])) return;
    int64_t place = held < most ? held++ : most - 1;
    for (; place > 0 && token.is_before(tokens[place - 1]); --place) {
      tokens[place] = tokens[place - 1];
    }
    tokens[place] = token;
  }
};

// The largest of some logits, and Σ exp(logit - top).
struct Normaliser {
  float top, total;
};

// Logits are multiples of sixteen, filled up with -∞: those of the ids from `first` on join a list.
using RankLogits = Normaliser (*)(const float* logits, int64_t count, int64_t first, List& list);
// Logits are sums of sixteen tokens a block times the first of their `bounds` (blocks, 3, 16) and
// times `step`.
using ScaleBlocks = void (*)(const int32_t* sums, const float* bounds, int64_t count, float step,
                             float* logits);

#define KT_DECLARE(set)                                                                        \
  namespace set {                                                                              \
  Normaliser rank_logits(const float* logits, int64_t count, int64_t first, List& list);       \
  void scale_blocks(const int32_t* sums, const float* bounds, int64_t count, float step,       \
                    float* logits);                                                            \
  }
KT_DECLARE(portable)
#ifdef KT_X86
KT_DECLARE(avx2)
KT_DECLARE(vnni)
#endif
#undef KT_DECLARE

}  // namespace keras_transformer
