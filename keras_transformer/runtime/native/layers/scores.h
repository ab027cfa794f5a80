// What becomes of the products of a query with keys before their softmax: a cap bounds them (Gemma Team
// 2024), and a bias by distance is added (Raffel et al. 2020).
#pragma once

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

#include "context.h"
#include "node.h"
#include "vectors.h"

namespace keras_transformer {

// cap · tanh(x / cap)
template <typename Vector>
KT_INLINE Vector capped(Vector x, float cap) {
  const Vector e = exp_of_negative((x < 0.0f ? x : -x) * (2.0f / cap));
  const Vector size = (1.0f - e) / (e + 1.0f) * cap;
  return x < 0.0f ? -size : size;
}

// Throws unless a cap is positive, or 0 for none.
inline float check_cap(float cap) {
  if (cap >= 0 && cap <= std::numeric_limits<float>::max()) return cap;
  throw std::invalid_argument("soft_cap must be positive, or 0 for none, got " + std::to_string(cap));
}

class Scores {
 public:
  Scores() = default;

  // Reads the attribute `soft_cap`.
  explicit Scores(const Node& node) : cap_(check_cap(node.attribute<float>("soft_cap", 0))) {}

  // Reads the biases, too, an input that is stored in the graph or left out: (heads, 2·most + 1), of a
  // key from `most` places before a query, or more, to as many behind it.
  Scores(const Node& node, size_t place) : Scores(node) {
    biases_ = node.constant<float>(place);
    if (biases_.data != nullptr && check_axes("biases", biases_.shape, 2)[1] % 2 == 0) {
      throw std::invalid_argument("biases must be of as many distances before a query as behind it, got " +
                                  std::to_string(biases_.shape[1]) + " with that of itself");
    }
  }

  void check(Context& context, size_t place, int64_t heads) const {
    if (biases_.data != nullptr) return check_shape("biases", biases_.shape, {heads, biases_.shape[1]});
    if (context.has_input(place)) throw std::invalid_argument("biases must be stored in the graph");
  }

  bool has_cap() const { return cap_ > 0; }

  // Of room for a whole number of vectors.
  template <typename Vector = Floats>
  KT_INLINE void bound(float* scores, int64_t count) const {
    if (!has_cap()) return;
    for (int64_t t = 0; t < count; t += kLanesOf<Vector>) {
      store(scores + t, capped(load<Vector>(scores + t), cap_));
    }
  }

  // Adds a head's biases of keys one place after another, the first of them `ahead` places behind the
  // query.
  KT_INLINE void add_biases(int64_t head, int64_t ahead, int64_t count, float* scores) const {
    if (biases_.data == nullptr) return;
    const float* middle = of_head(head);
    const int64_t near = std::clamp<int64_t>(-most() - ahead, 0, count);
    const int64_t far = std::clamp<int64_t>(most() - ahead, near, count);
    for (int64_t t = 0; t < near; ++t) scores[t] += middle[-most()];
    for (int64_t t = near; t < far; ++t) scores[t] += middle[ahead + t];
    for (int64_t t = far; t < count; ++t) scores[t] += middle[most()];
  }

  // The same of keys at given places.
  void add_biases(int64_t head, int32_t query, const int32_t* keys, int64_t count,
                  float* scores) const {
    if (biases_.data == nullptr) return;
    const float* middle = of_head(head);
    for (int64_t t = 0; t < count; ++t) {
      scores[t] += middle[std::clamp<int64_t>(keys[t] - query, -most(), most())];
    }
  }

 private:
  int64_t most() const { return biases_.shape[1] / 2; }
  const float* of_head(int64_t head) const {
    return biases_.data + head * biases_.shape[1] + most();
  }

  float cap_ = 0;
  Constant<float> biases_;
};

}  // namespace keras_transformer
