// Self-attention within whole sequences, for the encoder. The keys of a head are transposed
// first, so that scores need no sum across lanes, and several queries read each key at a time.
#include <algorithm>
#include <iterator>

#include "attention.h"
#include "operators.h"
#include "versions.h"

namespace keras_transformer {
namespace {

constexpr int kQueries = 4;

struct Sequences {
  const float* packed;  // (batch · length, 3 · heads · width): queries, keys and values
  const int32_t* mask;  // (batch, length), 1 for tokens
  int64_t heads, length, width;
  float* output;  // (batch · length, heads · width)
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

// `part` counts heads of sentences.
KT_INLINE void attend_head(const Sequences& s, int64_t part, float* room) {
  const int64_t model = s.heads * s.width, start = part / s.heads * s.length;
  const int64_t there = part % s.heads * s.width;
  Head h{};
  h.length = s.length, h.width = s.width, h.stride = 3 * model;
  h.room = (s.length + kLanes - 1) / kLanes * kLanes;
  h.queries = s.packed + start * h.stride + there;
  h.values = h.queries + 2 * model;
  float *hidden = room, *turned = hidden + h.room;
  h.hidden = hidden, h.turned = turned, h.scores = turned + s.width * h.room;
  for (int64_t t = 0; t < h.room; ++t) {
    const float* key = h.queries + t * h.stride + model;
    hidden[t] = t < s.length && s.mask[start + t] ? 0.0f : kMasked;
    for (int64_t i = 0; i < s.width; ++i) turned[i * h.room + t] = t < s.length ? key[i] : 0.0f;
  }
  float* output = s.output + start * model + there;
  int64_t query = 0;
  for (; query + kQueries <= s.length; query += kQueries) {
    attend_some<kQueries>(h, query, output, model);
  }
  for (; query < s.length; ++query) attend_some<1>(h, query, output, model);
}

}  // namespace

void SequenceAttention::compute(Context& context) const {
  const Shape shape = context.shape(0, "packed", 2), batch_length = context.shape(1, "mask", 2);
  const int64_t batch = batch_length[0], length = batch_length[1], rows = batch * length;
  const int64_t width = shape[1] / (3 * heads_), model = heads_ * width;
  check_shape("packed", shape, {rows, 3 * model});
  Sequences s{};
  s.packed = context.input<float>(0);
  s.mask = context.input<int32_t>(1);
  s.heads = heads_, s.length = length, s.width = width;
  s.output = context.output<float>(0, {rows, model});
  const double each = length * length * (1 + width * 0.1);
  context.parallel_for(batch * heads_, each, [&](int64_t first, int64_t last) {
    static thread_local std::vector<float> room;
    const size_t size = (length + kLanes) * (1 + width + kQueries);
    if (room.size() < size) room.resize(size);
    for (int64_t part = first; part < last; ++part) fastest<attend_head>(s, part, room.data());
  });
}

}  // namespace keras_transformer
