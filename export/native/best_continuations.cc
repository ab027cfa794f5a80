// Beam search's candidates: the best continuations of a sentence's hypotheses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "operators.h"
#include "vectors.h"

namespace keras_transformer {
namespace {

struct Token {
  float logit;
  int32_t id;
};

// From here on sorting is faster than inserting.
constexpr int64_t kManyTokens = 64;

// The largest logits of a row, of equal ones the lowest id first, by insertion into a short list.
KT_CLONES void insert_best(const float* logits, int64_t vocabulary, int64_t count, Token* best) {
  int64_t held = 0;
  float least = -std::numeric_limits<float>::infinity();
  const auto insert = [&](int64_t id) KT_INLINE_LAMBDA {
    const float logit = logits[id];
    if (held == count && !(logit > least)) return;
    int64_t place = held < count ? held++ : count - 1;
    for (; place > 0 && logit > best[place - 1].logit; --place) best[place] = best[place - 1];
    best[place] = {logit, static_cast<int32_t>(id)};
    if (held == count) least = best[count - 1].logit;
  };
  int64_t id = 0;
  for (; id < std::min(count, vocabulary); ++id) insert(id);
  for (; id + 4 * kLanes <= vocabulary; id += 4 * kLanes) {
    const float* block = logits + id;
    const Floats top = larger(larger(load(block), load(block + kLanes)),
                              larger(load(block + 2 * kLanes), load(block + 3 * kLanes)));
    if (!any(top > all(least))) continue;
    for (int64_t i = id; i < id + 4 * kLanes; ++i) insert(i);
  }
  for (; id < vocabulary; ++id) insert(id);
}

void sort_best(const float* logits, int64_t vocabulary, int64_t count, Token* best) {
  std::vector<int32_t> ids(vocabulary);
  std::iota(ids.begin(), ids.end(), 0);
  std::partial_sort(ids.begin(), ids.begin() + count, ids.end(), [&](int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  });
  for (int64_t i = 0; i < count; ++i) best[i] = {logits[ids[i]], ids[i]};
}

// log Σ exp(logits), given the largest of them.
KT_CLONES float log_sum(const float* logits, int64_t vocabulary, float top) {
  Floats even{}, odd{};
  int64_t i = 0;
  for (; i + 2 * kLanes <= vocabulary; i += 2 * kLanes) {
    even += exp_of_negative(load(logits + i) - all(top));
    odd += exp_of_negative(load(logits + i + kLanes) - all(top));
  }
  float total = sum(even + odd);
  for (; i < vocabulary; ++i) total += exp_of_negative(all(logits[i] - top))[0];
  return top + std::log(total);
}

// Merges the sorted lists of a sentence's beams; of equal ones the lowest beam's comes first.
void merge(const Token* tokens, int64_t beams, int64_t held, int64_t count, int32_t* ids,
           float* values, int32_t* parents) {
  std::vector<int64_t> next(beams, 0);
  for (int64_t i = 0; i < count; ++i) {
    int64_t chosen = -1;
    for (int64_t beam = 0; beam < beams; ++beam) {
      if (next[beam] == held) continue;
      const auto value = [&](int64_t b) { return tokens[b * held + next[b]].logit; };
      if (chosen < 0 || value(beam) > value(chosen)) chosen = beam;
    }
    const Token& token = tokens[chosen * held + next[chosen]++];
    ids[i] = token.id, values[i] = token.logit, parents[i] = static_cast<int32_t>(chosen);
  }
}

}  // namespace

void BestContinuations::compute(Context& context) const {
  const Shape shape = context.shape(0), beamed = context.shape(1);
  const int64_t rows = shape[0], vocabulary = shape[1], batch = beamed[0], beams = beamed[1];
  const float *logits = context.input<float>(0), *totals = context.input<float>(1);
  const int64_t asked = *context.input<int64_t>(2);
  if (asked < 1) throw std::invalid_argument("the count must be at least 1");
  if (batch * beams != rows) throw std::invalid_argument("logits need a row for each total");
  const int64_t held = std::min(asked, vocabulary), count = std::min(asked, beams * vocabulary);
  int32_t* ids = context.output<int32_t>(0, {batch, count});
  float* values = context.output<float>(1, {batch, count});
  int32_t* parents = context.output<int32_t>(2, {batch, count});

  std::vector<Token> best(rows * held);
  context.parallel_for(rows, 0.6 * vocabulary, [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const float* of_row = logits + row * vocabulary;
      Token* tokens = &best[row * held];
      (held < kManyTokens ? insert_best : sort_best)(of_row, vocabulary, held, tokens);
      const float normaliser = log_sum(of_row, vocabulary, tokens[0].logit);
      for (int64_t i = 0; i < held; ++i) {
        tokens[i].logit = totals[row] + (tokens[i].logit - normaliser);
      }
    }
  });
  for (int64_t sentence = 0; sentence < batch; ++sentence) {
    const int64_t place = sentence * count;
    merge(&best[sentence * beams * held], beams, held, count, ids + place, values + place,
          parents + place);
  }
}

}  // namespace keras_transformer
