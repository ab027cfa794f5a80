// Attention of one query to a list of keys and values, eq. 1 of "Attention Is All You Need"; the
// query is already scaled by 1/√d_k.
#pragma once

#include <limits>
#include <vector>

#include "shape.h"
#include "vectors.h"

namespace keras_transformer {

// The value added to the scores of padding: far below any score, far above float32's lowest number.
constexpr float kMasked = -1e9f;

// Throws unless there are heads and each has a width: nothing else limits how many empty ones are.
inline void check_heads(int64_t heads, int64_t width) {
  check_positive("the width of all heads",
                 check_positive("heads", heads) * check_positive("width", width));
}

// Room for the scores of a query, one for each thread.
inline float* room_for_scores(int64_t count) {
  static thread_local std::vector<float> room;
  if (room.size() < static_cast<size_t>(count + kLanes)) room.resize(count + kLanes);
  return room.data();
}

// Turns scores into weights that sum to 1; `scores` has room for a whole number of vectors.
template <typename Vector = Floats>
KT_INLINE void softmax(float* scores, int64_t count) {
  constexpr int64_t kStep = kLanesOf<Vector>;
  // No weight, however low the others are.
  for (int64_t t = count; t % kStep; ++t) scores[t] = -std::numeric_limits<float>::infinity();
  Vector tops = load<Vector>(scores);
  for (int64_t t = kStep; t < count; t += kStep) tops = larger(tops, load<Vector>(scores + t));
  const Vector top = all<Vector>(largest(tops));
  Vector total{};
  for (int64_t t = 0; t < count; t += kStep) {
    const Vector weights = exp_of_negative(load<Vector>(scores + t) - top);
    store(scores + t, weights);
    total += weights;
  }
  const Vector factor = all<Vector>(1.0f / sum(total));
  for (int64_t t = 0; t < count; t += kStep) store(scores + t, load<Vector>(scores + t) * factor);
}

// output = Σ weights[t] value(t), for a width of kParts · kLanes.
template <int kParts, typename Value>
KT_INLINE void mix(const float* weights, const Value& value, int64_t count, float* output) {
  Floats total[kParts] = {};
  for (int64_t t = 0; t < count; ++t) {
    const float* row = value(t);
    for (int part = 0; part < kParts; ++part) {
      total[part] += weights[t] * load(row + part * kLanes);
    }
  }
  for (int part = 0; part < kParts; ++part) store(output + part * kLanes, total[part]);
}

// Attends to `count` keys; `key(t)` and `value(t)` are the rows of `width` numbers of the place t, and
// `change(scores)` what becomes of the products with keys.
template <typename Key, typename Value, typename Change>
KT_INLINE void attend(const float* query, const Key& key, const Value& value, const Change& change,
                      int64_t count, int64_t width, float* output) {
  float* scores = room_for_scores(count);
  for (int64_t t = 0; t < count; ++t) scores[t] = dot(query, key(t), width);
  change(scores);
  softmax(scores, count);
  int64_t done = 0;
  const auto from = [&](int64_t t) { return value(t) + done; };
  for (; done + 8 * kLanes <= width; done += 8 * kLanes) mix<8>(scores, from, count, output + done);
  for (; done + 4 * kLanes <= width; done += 4 * kLanes) mix<4>(scores, from, count, output + done);
  for (; done + kLanes <= width; done += kLanes) mix<1>(scores, from, count, output + done);
  if (done == width) return;
  // Not number by number: the compiler would choose an order of summing that depends on the count.
  Floats total{};
  for (int64_t t = 0; t < count; ++t) total += scores[t] * load_some(from(t), width - done);
  store_some(output + done, total, width - done);
}

}  // namespace keras_transformer
