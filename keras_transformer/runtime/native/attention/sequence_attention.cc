// Self-attention within whole sequences, for the encoder. The keys of a head are transposed
// first, so that scores need no sum across lanes, and several queries read each key at a time.
#include <algorithm>
#include <iterator>
#include <vector>

#include "attention.h"
#include "operators.h"
#include "sentences.h"
#include "versions.h"

namespace keras_transformer {
namespace {

constexpr int kQueries = 4;

struct Sequences {
  const float* packed;  // (rows, 3 · heads · width): queries, keys and values
  int64_t heads, width;
  float* output;  // (rows, heads · width)
};

// One head of one sequence, with room for a whole number of lanes in each row.
struct Head {
  const float* queries;  // (length, …), `stride` from one to the next
  const float* values;   // as the queries
  const float* turned;   // (width, room): keys
  const float* hidden;   // (room): mask, added to scores
  float* scores;         // (kQueries, room)
  int64_t length, width, stride, room;
};

// sums[q][part] = Σ factors[q · across + i] · (eight of rows[i · stride + …]), with the same order
// of additions for all kCount and kParts.
template <int kCount, int kParts>
KT_INLINE void sum_rows(const float* factors, int64_t across, const float* rows, int64_t stride,
                        int64_t count, Floats (&sums)[kCount][kParts]) {
  for (auto& of_query : sums) std::fill(std::begin(of_query), std::end(of_query), Floats{});
  for (int64_t i = 0; i < count; ++i) {
    Floats row[kParts];
    for (int part = 0; part < kParts; ++part) row[part] = load(rows + i * stride + part * kLanes);
    for (int q = 0; q < kCount; ++q) {
      for (int part = 0; part < kParts; ++part) {
        sums[q][part] += factors[q * across + i] * row[part];
      }
    }
  }
}

// Scores of kCount queries to 8 · kParts keys.
template <int kCount, int kParts>
KT_INLINE void score(const Head& h, int64_t query, int64_t key) {
  Floats sums[kCount][kParts];
  sum_rows(h.queries + query * h.stride, h.stride, h.turned + key, h.room, h.width, sums);
  for (int q = 0; q < kCount; ++q) {
    for (int part = 0; part < kParts; ++part) {
      const int64_t t = key + part * kLanes;
      store(h.scores + q * h.room + t, sums[q][part] + load(h.hidden + t));
    }
  }
}

// Values weighted by kCount queries' weights, 8 · kParts numbers of each.
template <int kCount, int kParts>
KT_INLINE void weigh(const Head& h, int64_t first, float* output, int64_t model) {
  Floats sums[kCount][kParts];
  sum_rows(h.scores, h.room, h.values + first, h.stride, h.length, sums);
  for (int q = 0; q < kCount; ++q) {
    for (int part = 0; part < kParts; ++part) {
      store(output + q * model + first + part * kLanes, sums[q][part]);
    }
  }
}

template <int kCount>
KT_INLINE void attend_some(const Head& h, int64_t query, float* output, int64_t model) {
  int64_t key = 0, done = 0;
  for (; key + 2 * kLanes <= h.room; key += 2 * kLanes) score<kCount, 2>(h, query, key);
  if (key < h.room) score<kCount, 1>(h, query, key);
  for (int q = 0; q < kCount; ++q) softmax(h.scores + q * h.room, h.length);
  output += query * model;
  for (; done + 2 * kLanes <= h.width; done += 2 * kLanes) weigh<kCount, 2>(h, done, output, model);
  if (done + kLanes <= h.width) weigh<kCount, 1>(h, done, output, model), done += kLanes;
  const int64_t left = h.width - done;
  for (int q = 0; left > 0 && q < kCount; ++q) {
    Floats sum{};
    for (int64_t t = 0; t < h.length; ++t) {
      sum += h.scores[q * h.room + t] * load_some(h.values + t * h.stride + done, left);
    }
    store_some(output + q * model + done, sum, left);
  }
}

// `first` is the row of the sentence that `packed` and `output` begin with.
KT_INLINE void attend_head(const Sequences& s, const Sentence& sentence, int64_t first,
                           int64_t head, float* room) {
  const int64_t model = s.heads * s.width, start = sentence.start - first, length = sentence.rows;
  const int64_t there = head * s.width;
  Head h{};
  h.length = length, h.width = s.width, h.stride = 3 * model;
  h.room = (length + kLanes - 1) / kLanes * kLanes;
  h.queries = s.packed + start * h.stride + there;
  h.values = h.queries + 2 * model;
  float *hidden = room, *turned = hidden + h.room;
  h.hidden = hidden, h.turned = turned, h.scores = turned + s.width * h.room;
  for (int64_t t = 0; t < h.room; ++t) {
    const float* key = h.queries + t * h.stride + model;
    const bool is_token = t < length && (sentence.mask == nullptr || sentence.mask[t]);
    hidden[t] = is_token ? 0.0f : kMasked;
    for (int64_t i = 0; i < s.width; ++i) turned[i * h.room + t] = t < length ? key[i] : 0.0f;
  }
  float* output = s.output + start * model + there;
  int64_t query = 0;
  for (; query + kQueries <= length; query += kQueries) {
    attend_some<kQueries>(h, query, output, model);
  }
  for (; query < length; ++query) attend_some<1>(h, query, output, model);
}

// Room for a head of a sentence, one for each thread.
float* room_for_head(int64_t length, int64_t width) {
  static thread_local std::vector<float> room;
  const size_t size = (length + kLanes) * (1 + width + kQueries);
  if (room.size() < size) room.resize(size);
  return room.data();
}

// Nanoseconds that a head of a sentence takes.
double cost_of_head(double length, int64_t width) { return length * length * (1 + width * 0.1); }

// All heads of all sentences, on all of onnxruntime's threads.
void attend_all(Context& context, const Sequences& s, const Sentences& sentences) {
  const double each = cost_of_head(sentences.length, s.width);
  context.parallel_for(sentences.batch() * s.heads, each, [&](int64_t first, int64_t last) {
    float* room = room_for_head(sentences.length, s.width);
    for (int64_t part = first; part < last; ++part) {
      fastest<attend_head>(s, sentences.each[part / s.heads], 0, part % s.heads, room);
    }
  });
}

// Sentences that pass through a sub-layer together: as few as have rows enough for a product.
struct Group {
  int64_t first, last, row, rows;  // sentences, and the rows of them all
};

std::vector<Group> groups_of(const Sentences& sentences) {
  std::vector<Group> groups;
  for (int64_t number = 0; number < sentences.batch(); ++number) {
    const Sentence& sentence = sentences.each[number];
    if (groups.empty() || groups.back().rows >= kMostRows) {
      groups.push_back({number, number, sentence.start, 0});
    }
    ++groups.back().last, groups.back().rows += sentence.rows;
  }
  return groups;
}

}  // namespace

void SequenceAttention::compute(Context& context) const {
  const Shape shape = context.shape(0, "packed", 2);
  const int64_t rows = shape[0], width = shape[1] / (3 * heads_), model = heads_ * width;
  check_shape("packed", shape, {rows, 3 * model});
  const Sentences sentences = read_sentences(context, 1, rows);
  attend_all(context, {context.input<float>(0), heads_, width,
                       context.output<float>(0, {rows, model})}, sentences);
}

void SequenceAttentionSubLayer::compute(Context& context) const {
  const int64_t width = units_ / (3 * heads_), model = heads_ * width;
  if (units_ != 3 * model) {
    throw std::invalid_argument("units must be a multiple of " + std::to_string(3 * heads_) +
                                ", three for each head, got " + std::to_string(units_));
  }
  const auto rows = layer_.rows(context, context.shape(0)[0], units_, kLinear, model);
  const Sentences sentences = read_sentences(context, SubLayer::kOwnInputs, rows.count);
  const std::vector<Group> groups = groups_of(sentences);
  if (groups.size() < 2) {
    return layer_.in_steps(context, rows, [&](const float* packed, float* output) {
      attend_all(context, {packed, heads_, width, output}, sentences);
      return output;
    });
  }
  const int64_t count = static_cast<int64_t>(groups.size());
  const double each = rows.count * layer_.cost() / count;
  context.parallel_for(count, each, [&](int64_t first, int64_t last) {
    float* room = room_for_head(sentences.length, width);
    for (int64_t place = first; place < last; ++place) {
      const Group& g = groups[place];
      layer_.some(rows, g.row, g.rows, [&](int64_t, int64_t, const float* packed, float* output) {
        const Sequences s{packed, heads_, width, output};
        for (int64_t part = g.first * heads_; part < g.last * heads_; ++part) {
          fastest<attend_head>(s, sentences.each[part / heads_], g.row, part % heads_, room);
        }
        return output;
      });
    }
  });
}

}  // namespace keras_transformer
