// Greedy search's next token: a matrix in bytes finds candidates, and a bound proves that no other
// token is the best.
//
// With x the states of a row, w the weights of a token and x̂ and ŵ both in bytes,
//
//   |x·w - x̂·ŵ| = |x·(w - ŵ) + (x - x̂)·ŵ| ≤ ‖x‖ ‖w - ŵ‖ + ‖x - x̂‖ ‖ŵ‖       (Cauchy-Schwarz)
//
// so that a token whose upper bound is below the lower bound of another cannot be the best. The few
// that are left are multiplied in float32. Without w, x̂·ŵ is the logit, and all bounds are 0.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ranking.h"
#include "ranking_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// Nanoseconds that candidates take, and a number of the matrix that they are multiplied by.
constexpr double kDecision = 500, kProduct = 0.05;

// A row's step, ‖x‖ and ‖x - x̂‖.
struct Rounding {
  float step, norm, error;
};

// Takes a token if it is before the best so far, and the first that is NaN for good.
KT_INLINE void add(Token token, Token& best) {
  if (std::isnan(token.logit)) best = {token.logit, -1};
  if (token.is_before(best)) best = token;
}

// What one reader keeps of one row: the largest lower bound, and the blocks with a token whose
// upper bound was above it when read, with the upper bounds of their tokens.
struct Candidates {
  float lower;
  std::vector<int64_t> blocks;
  std::vector<float> uppers;

  void clear() {
    lower = -std::numeric_limits<float>::infinity();
    blocks.clear();
    uppers.clear();
  }
};

// The upper and the lower bounds of eight tokens' logits.
struct Bounds {
  Floats upper, lower;
};

KT_INLINE Bounds bounds_of(const int32_t* sums, const float* bounds, Rounding row) {
  Ints products;
  std::memcpy(&products, sums, sizeof products);
  const Floats middle = __builtin_convertvector(products, Floats) * load(bounds) * row.step;
  const Floats error = load(bounds + kTokens), norm = load(bounds + 2 * kTokens);
  const Floats margin = error * row.norm + norm * row.error;
  return {middle + margin, middle - margin};
}

// Adds the candidates of some blocks.
KT_INLINE void find(const int32_t* sums, const float* bounds, int64_t block, int64_t count,
                    Rounding row, Candidates& found) {
  constexpr int64_t kOfBlock = 3 * kTokens;
  Floats tops[kChunk];
  Floats top = all(-std::numeric_limits<float>::infinity());
  for (int64_t b = 0; b < count; ++b) {
    const Bounds low = bounds_of(sums + b * kTokens, bounds + b * kOfBlock, row);
    const Bounds high =
        bounds_of(sums + b * kTokens + kLanes, bounds + b * kOfBlock + kLanes, row);
    tops[b] = larger(low.upper, high.upper);
    top = larger(top, tops[b]);
  }
  if (largest(top) < found.lower) return;
  for (int64_t b = 0; b < count; ++b) {
    if (largest(tops[b]) < found.lower) continue;
    found.blocks.push_back(block + b);
    for (int64_t i = 0; i < kTokens; i += kLanes) {
      const Bounds eight = bounds_of(sums + b * kTokens + i, bounds + b * kOfBlock + i, row);
      found.lower = std::max(found.lower, largest(eight.lower));
      found.uppers.resize(found.uppers.size() + kLanes);
      store(&found.uppers[found.uppers.size() - kLanes], eight.upper);
    }
  }
}

// Finds the best of the candidates that a reader has of each row: in float32, if states (rows, width) and
// the matrix (vocabulary, width) are given. The lowest id wins a tie; -1 if one is NaN or none is above
// -∞. Where bounds tell little apart, rows have most tokens in common: a few blocks are decided for all
// rows before the next, so that each is read from memory once.
KT_INLINE void decide(const Candidates* found, int64_t rows, const float* lowers, int64_t vocabulary,
                      const float* states, const float* matrix, int64_t width, Token* best) {
  constexpr size_t kTogether = 8 * kTokens;
  size_t most = 0;
  for (int64_t row = 0; row < rows; ++row) most = std::max(most, found[row].uppers.size());
  for (size_t first = 0; first < most; first += kTogether) {
    for (int64_t row = 0; row < rows; ++row) {
      const Candidates& candidates = found[row];
      const size_t last = std::min(first + kTogether, candidates.uppers.size());
      for (size_t i = first; i < last; ++i) {
        const int64_t token = candidates.blocks[i / kTokens] * kTokens + i % kTokens;
        if (token >= vocabulary || candidates.uppers[i] < lowers[row]) continue;
        const float logit = matrix == nullptr
                                ? candidates.uppers[i]
                                : dot(states + row * width, matrix + token * width, width);
        add({logit, static_cast<int32_t>(token)}, best[row]);
      }
    }
  }
}

}  // namespace

BestToken::BestToken(const Node& node) : head_(node, 1), matrix_(node.constant<float>(4)) {}

void BestToken::compute(Context& context) const {
  const Shape shape = context.shape(0, "states", 2);
  const int64_t rows = shape[0], width = shape[1];
  const float* states = context.input<float>(0);
  if (matrix_.data != nullptr) {
    check_shape("matrix", matrix_.shape, {head_.vocabulary(), width});
  } else if (context.has_input(4)) {
    throw std::invalid_argument("matrix must be stored in the graph");
  }
  const ByteRows& rounded = head_.round(states, rows, width);
  for (int64_t row = 0; row < rows; ++row) {
    if (std::isfinite(rounded.norms[row])) continue;
    throw std::invalid_argument("states must be finite, row " + std::to_string(row) + " is not");
  }
  const int64_t readers = head_.readers(rows).count();
  static thread_local std::vector<Candidates> candidates;
  if (candidates.size() < static_cast<size_t>(readers * rows)) candidates.resize(readers * rows);
  Candidates* found = candidates.data();
  for (int64_t i = 0; i < readers * rows; ++i) found[i].clear();

  head_.multiply(context, rounded, rows, [&](const Chunk& chunk) {
    const int64_t row = chunk.row;
    // Without bounds the rows' steps change no order, but may round two logits to the same.
    const float step = matrix_.data == nullptr ? 1.0f : rounded.steps[row];
    fastest<find>(chunk.sums, head_.bounds(chunk.block), chunk.block, chunk.count,
                  {step, rounded.norms[row], rounded.errors[row]},
                  found[chunk.reader * rows + row]);
  });
  static thread_local std::vector<float> lowers;
  static thread_local std::vector<Token> tokens;
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  lowers.assign(rows, kLowest);
  tokens.assign(readers * rows, {kLowest, -1});
  double count = 0;
  for (int64_t i = 0; i < readers * rows; ++i) {
    lowers[i % rows] = std::max(lowers[i % rows], found[i].lower);
    count += found[i].uppers.size();
  }
  const float* least = lowers.data();
  Token* best = tokens.data();
  context.parallel_for(readers, kDecision + count * width / readers * kProduct,
                       [&](int64_t first, int64_t last) {
    for (int64_t reader = first; reader < last; ++reader) {
      fastest<decide>(found + reader * rows, rows, least, head_.vocabulary(), states, matrix_.data,
                      width, best + reader * rows);
    }
  });
  int32_t* ids = context.output<int32_t>(0, {rows});
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t reader = 1; reader < readers; ++reader) add(best[reader * rows + row], best[row]);
    ids[row] = best[row].id;
    if (ids[row] >= 0) continue;
    throw std::invalid_argument("row " + std::to_string(row) +
                                " holds NaN, or no logit above -infinity");
  }
}

}  // namespace keras_transformer
