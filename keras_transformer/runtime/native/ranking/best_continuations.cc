// Beam search's candidates: the best continuations of a sentence's hypotheses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "ranking.h"
#include "ranking_operators.h"

namespace keras_transformer {
namespace {

// log Σ exp(logits).
float log_sum(const Normaliser* chunks, int64_t count) {
  float top = chunks[0].top, total = 0;
  for (int64_t c = 1; c < count; ++c) top = std::max(top, chunks[c].top);
  for (int64_t c = 0; c < count; ++c) total += chunks[c].total * std::exp(chunks[c].top - top);
  return top + std::log(total);
}

// Fills up a chunk that holds `count` logits.
const float* fill_up(float* chunk, int64_t count) {
  std::fill(chunk + count, chunk + kSumsOfRow, -std::numeric_limits<float>::infinity());
  return chunk;
}

// The logits of some rows, read chunk by chunk, in any order, by several readers.
class Reading {
 public:
  Reading(Context& context, size_t totals, size_t asked, int64_t rows, int64_t vocabulary,
          int64_t readers)
      : rows_(rows), vocabulary_(vocabulary), readers_(readers),
        chunks_((vocabulary + kSumsOfRow - 1) / kSumsOfRow) {
    check_positive("the vocabulary", vocabulary);
    const Shape beamed = context.shape(totals, "totals", 2);
    batch_ = beamed[0], beams_ = check_positive("beams", beamed[1]);
    totals_ = context.input<float>(totals);
    const int64_t count = *context.input<int64_t>(asked, "count", {1});
    if (count < 1) throw std::invalid_argument("the count must be at least 1");
    if (batch_ * beams_ != rows) {
      throw std::invalid_argument("logits need a row for each total");
    }
    most_ = std::min(count, vocabulary), count_ = std::min(count, beams_ * vocabulary);
    tokens_.reset(new Token[readers * rows * most_]), held_.assign(readers * rows, 0);
    normalisers_.resize(rows * chunks_);
  }

  // How many logits a chunk has; it is filled up with -∞ to be read.
  int64_t count_of(int64_t chunk) const {
    return std::min(kSumsOfRow, vocabulary_ - chunk * kSumsOfRow);
  }

  // Reads a chunk of a row.
  void read(int64_t reader, int64_t row, int64_t chunk, const float* logits) {
    static const RankLogits rank = KT_FASTEST(rank_logits);
    const int64_t place = reader * rows_ + row;
    List list{&tokens_[place * most_], held_[place], most_};
    normalisers_[row * chunks_ + chunk] = rank(logits, kSumsOfRow, chunk * kSumsOfRow, list);
    held_[place] = list.held;
  }

  // Writes the outputs 0 to 2.
  void finish(Context& context) {
    const double cost = 10.0 * (chunks_ + readers_ * most_);
    context.parallel_for(rows_, cost, [&](int64_t first, int64_t last) {
      for (int64_t row = first; row < last; ++row) finish_row(row);
    });
    int32_t* ids = context.output<int32_t>(0, {batch_, count_});
    float* values = context.output<float>(1, {batch_, count_});
    int32_t* parents = context.output<int32_t>(2, {batch_, count_});
    for (int64_t sentence = 0; sentence < batch_; ++sentence) {
      const int64_t place = sentence * count_;
      merge(&tokens_[sentence * beams_ * most_], ids + place, values + place, parents + place);
    }
  }

  int64_t chunks() const { return chunks_; }

 private:
  // Joins the lists that readers have of a row, and turns logits into log-probabilities.
  void finish_row(int64_t row) {
    List list{&tokens_[row * most_], held_[row], most_};
    for (int64_t reader = 1; reader < readers_; ++reader) {
      const int64_t place = reader * rows_ + row;
      for (int64_t i = 0; i < held_[place]; ++i) {
        list.insert(tokens_[place * most_ + i]);
      }
    }
    const float normaliser = log_sum(&normalisers_[row * chunks_], chunks_);
    if (!std::isfinite(normaliser) || std::isnan(totals_[row])) {
      throw std::invalid_argument("row " + std::to_string(row) +
                                  " holds NaN or infinity, or no logit above -infinity");
    }
    for (int64_t i = 0; i < most_; ++i) {
      list.tokens[i].logit = totals_[row] + (list.tokens[i].logit - normaliser);
    }
  }

  // Merges the lists of a sentence's beams; the lowest beam wins a tie.
  void merge(const Token* tokens, int32_t* ids, float* values, int32_t* parents) const {
    std::vector<int64_t> next(beams_, 0);
    for (int64_t i = 0; i < count_; ++i) {
      int64_t chosen = -1;
      for (int64_t beam = 0; beam < beams_; ++beam) {
        if (next[beam] == most_) continue;
        const auto value = [&](int64_t b) { return tokens[b * most_ + next[b]].logit; };
        if (chosen < 0 || value(beam) > value(chosen)) chosen = beam;
      }
      const Token& token = tokens[chosen * most_ + next[chosen]++];
      ids[i] = token.id, values[i] = token.logit, parents[i] = static_cast<int32_t>(chosen);
    }
  }

  int64_t rows_, vocabulary_, readers_, chunks_, batch_, beams_, most_, count_;
  const float* totals_;
  std::unique_ptr<Token[]> tokens_;      // (readers, rows, most)
  std::vector<int64_t> held_;            // (readers, rows)
  std::vector<Normaliser> normalisers_;  // (rows, chunks)
};

}  // namespace

void BestContinuations::compute(Context& context) const {
  const Shape shape = context.shape(0, "logits", 2);
  const int64_t rows = shape[0], vocabulary = shape[1];
  const float* logits = context.input<float>(0);
  Reading reading(context, 1, 2, rows, vocabulary, 1);
  context.parallel_for(rows, 0.6 * vocabulary, [&](int64_t first, int64_t last) {
    float last_chunk[kSumsOfRow];
    for (int64_t row = first; row < last; ++row) {
      for (int64_t chunk = 0; chunk < reading.chunks(); ++chunk) {
        const float* found = logits + row * vocabulary + chunk * kSumsOfRow;
        const int64_t count = reading.count_of(chunk);
        if (count < kSumsOfRow) {
          std::copy(found, found + count, last_chunk);
          found = fill_up(last_chunk, count);
        }
        reading.read(0, row, chunk, found);
      }
    }
  });
  reading.finish(context);
}

void BestContinuationsOfStates::compute(Context& context) const {
  const Shape shape = context.shape(0, "states", 2);
  const int64_t rows = shape[0], vocabulary = head_.vocabulary();
  const ByteRows& states = head_.round(context.input<float>(0), rows, shape[1]);
  Reading reading(context, 1, 2, rows, vocabulary, head_.readers(rows).count());
  float* logits = context.output<float>(3, {rows, vocabulary});
  head_.multiply(context, states, rows, [&](const Chunk& chunk) {
    static const ScaleBlocks scale = KT_FASTEST(scale_blocks);
    const int64_t place = chunk.block / kChunk, count = reading.count_of(place);
    float found[kSumsOfRow];
    scale(chunk.sums, head_.bounds(chunk.block), chunk.count * kTokens, states.steps[chunk.row],
          found);
    std::copy(found, found + count, logits + chunk.row * vocabulary + place * kSumsOfRow);
    reading.read(chunk.reader, chunk.row, place, fill_up(found, count));
  });
  reading.finish(context);
}

void BestContinuationsOfFloats::compute(Context& context) const {
  const int64_t rows = context.shape(0, "states", 2)[0], width = head_.inputs();
  const int64_t vocabulary = head_.outputs(), blocks = (vocabulary + kTokens - 1) / kTokens;
  const float* states = context.input<float>(0, "states", {rows, width});
  const Readers readers((blocks + kChunk - 1) / kChunk, head_.cost() * rows);
  Reading reading(context, 1, 2, rows, vocabulary, readers.count());
  float* logits = context.output<float>(3, {rows, vocabulary});
  readers.run(context, [&](int64_t reader, int64_t chunk) {
    alignas(64) float found[kGroup * kSumsOfRow];
    const int64_t first = chunk * kChunk, last = std::min(blocks, first + kChunk);
    for (int64_t row = 0; row < rows; row += kGroup) {
      const int64_t group = std::min(kGroup, rows - row), count = reading.count_of(chunk);
      head_.multiply(first, last, states + row * width, group, kLinear, found, kSumsOfRow);
      for (int64_t r = 0; r < group; ++r) {
        float* own = found + r * kSumsOfRow;
        std::copy(own, own + count, logits + (row + r) * vocabulary + chunk * kSumsOfRow);
        reading.read(reader, row + r, chunk, fill_up(own, count));
      }
    }
  });
  reading.finish(context);
}

}  // namespace keras_transformer
