// The operators of the domain keras_transformer that attend. Values are row-major.
#pragma once

#include "attention.h"
#include "distances.h"
#include "operator.h"
#include "scores.h"
#include "sub_layer.h"

namespace keras_transformer {

// packed (rows, (heads + 2·shared)·width), cached keys and values (rows, shared, capacity, width), step
// (1), which beam's row holds each token (batch, beams, capacity), left out if a sentence has one row,
// and biases as `Scores` has them, left out if there are none → (rows, heads·width) and the caches.
// `heads` is a multiple of `shared`. With a `window`, 0 for none, keys so many places away or more are
// hidden from a query; with a `soft_cap`, 0 for none, scores are capped.
class SelfAttention {
 public:
  static constexpr const char* kName = "SelfAttention";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat, ort::kInt32,
                                                 ort::kInt32, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 4, kBiases = 5;
  explicit SelfAttention(const Node& node)
      : window_(node.attribute<int64_t>("window", 0)), scores_(node, kBiases) {}
  void compute(Context& context) const;

 private:
  int64_t window_;
  Scores scores_;
};
template <>
inline constexpr bool kUpdatesInPlace<SelfAttention> = true;

// queries (batch·beams, heads·width), keys and values (batch, shared, length, width), mask
// (batch, length) → (batch·beams, heads·width), with a `soft_cap` as in `SelfAttention`.
class CrossAttention {
 public:
  static constexpr const char* kName = "CrossAttention";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat,
                                                 ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 4;
  explicit CrossAttention(const Node& node) : cap_(node) {}
  void compute(Context& context) const;

 private:
  Scores cap_;
};

// packed (rows, columns), the place of each or of all (rows or 1), the rate of each feature of a head
// (width), equal for the two of a pair → packed with its first `heads` heads turned.
class Rotary {
 public:
  static constexpr const char* kName = "Rotary";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit Rotary(const Node& node)
      : rates_(node.constant<float>(2, "rates", 1)), heads_(node.count("heads")) {
    if (rates_.shape[0] < 2 || rates_.shape[0] % 2) {
      throw std::invalid_argument("rates must be those of pairs, got " +
                                  std::to_string(rates_.shape[0]));
    }
  }
  void compute(Context& context) const;

 private:
  Constant<float> rates_;
  int64_t heads_;
};

// packed (rows, columns) and what `Kind` reads, gamma and perhaps beta, for queries and again for keys →
// packed with the norms of its first `heads` parts, each as wide as the first gamma, and of `shared`
// parts after them, as wide as the second; the rest is kept.
template <typename Kind>
class NormHeadsOperator {
 public:
  static constexpr const char* kName = Kind::kOfHeads;
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat, ort::kFloat,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 1 + 2 * Kind::kConstants;
  explicit NormHeadsOperator(const Node& node)
      : queries_(node, 1),
        keys_(node, 1 + Kind::kConstants),
        heads_(node.count("heads")),
        shared_(node.count("shared")) {
    check_heads(heads_, queries_.width()), check_heads(shared_, keys_.width());
  }
  void compute(Context& context) const;

 private:
  Kind queries_, keys_;
  int64_t heads_, shared_;
};

// packed (rows, (heads + 2·shared)·width), mask (batch, length), biases → (rows, heads·width); there is a
// row for each place, or one for each token. `shared` is `heads` if it is not given; biases, `window` and
// `soft_cap` are as in `SelfAttention`, and `Distances` says what may stand behind them. If it `looks_back`,
// keys after a query are hidden from it.
class SequenceAttention {
 public:
  static constexpr const char* kName = "SequenceAttention";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32, ort::kFloat,
                                                 ort::kFloat, ort::kFloat, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 2, kBiases = 2, kDistances = 3;
  explicit SequenceAttention(const Node& node);
  void compute(Context& context) const;

 private:
  int64_t heads_, shared_, window_;
  bool looks_back_;
  Scores scores_;
  Distances distances_;
};

// Prompts of one length behind what caches hold: packed (rows·length, (heads + 2·shared)·width), cached
// keys and values (rows, shared, capacity, width), and the first place (1), 0 if it is left out.
struct Prompt {
  int64_t rows, length, heads, shared, capacity, width, first;

  // Reads the sizes of packed, the first input, of the caches from `place` on, and of what follows them.
  static Prompt read(Context& context, size_t place);
};

// A prompt → the caches with its keys and values.
struct FillCache {
  static constexpr const char* kName = "FillCache";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit FillCache(const Node&) {}
  void compute(Context& context) const;
};
template <>
inline constexpr bool kUpdatesInPlace<FillCache> = true;

// A prompt with filled caches, and biases → (rows·length, heads·width): each place sees those before it
// and itself; biases, `window` and `soft_cap` are as in `SelfAttention`.
class PromptAttention {
 public:
  static constexpr const char* kName = "PromptAttention";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat, ort::kInt32,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3, kBiases = 4;
  explicit PromptAttention(const Node& node)
      : window_(node.attribute<int64_t>("window", 0)), scores_(node, kBiases) {}
  void compute(Context& context) const;

 private:
  int64_t window_;
  Scores scores_;
};

// Returns an output that holds the input's cache: the same memory if the caller has bound it so.
float* cache_of(Context& context, size_t input, size_t output, const Shape& shape);

// Several heads of queries may share one of keys and values (Ainslie et al. 2023): what of the packed
// columns is neither is queries.
int64_t heads_of(int64_t columns, int64_t shared, int64_t width);

// projected (rows, parts·heads·width), mask (batch, length) → of each part (batch, heads, length,
// width); there is a row for each place, or one for each token, and padding then is 0.
class SplitHeads {
 public:
  static constexpr const char* kName = "SplitHeads";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 2;
  explicit SplitHeads(const Node& node)
      : parts_(node.count("parts")), heads_(node.count("heads")) {}
  void compute(Context& context) const;

 private:
  int64_t parts_, heads_;
};
template <>
inline constexpr bool kManyOutputs<SplitHeads> = true;

// x and residual (rows, width), two linear layers as those of `BytesLinear` or of `Bfloat16Linear`,
// gamma and beta (width), then caches, step and beams, and a `window`, as in `SelfAttention` → residual +
// the sub-layer's output, LayerNorm of that, and the caches.
class SelfAttentionSubLayer {
 public:
  static constexpr const char* kName = "SelfAttentionSubLayer";
  static constexpr ort::ElementType kInputs[] = {
      ort::kFloat, ort::kFloat, ort::kAny, ort::kFloat, ort::kAny, ort::kFloat, ort::kFloat,
      ort::kFloat, ort::kFloat, ort::kFloat, ort::kInt32, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat, ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 11;
  explicit SelfAttentionSubLayer(const Node& node)
      : layer_(node), window_(node.attribute<int64_t>("window", 0)) {}
  void compute(Context& context) const;

 private:
  SubLayer layer_;
  int64_t window_;
};
template <>
inline constexpr bool kUpdatesInPlace<SelfAttentionSubLayer> = true;

// The same with keys, values and mask as in `CrossAttention` → sums and norms.
class CrossAttentionSubLayer {
 public:
  static constexpr const char* kName = "CrossAttentionSubLayer";
  static constexpr ort::ElementType kInputs[] = {
      ort::kFloat, ort::kFloat, ort::kAny, ort::kFloat, ort::kAny, ort::kFloat, ort::kFloat,
      ort::kFloat, ort::kFloat, ort::kFloat, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 11;
  explicit CrossAttentionSubLayer(const Node& node) : layer_(node) {}
  void compute(Context& context) const;

 private:
  SubLayer layer_;
};

// The same with a mask (batch, length); rows as in `SequenceAttention` → sums and norms.
class SequenceAttentionSubLayer {
 public:
  static constexpr const char* kName = "SequenceAttentionSubLayer";
  static constexpr ort::ElementType kInputs[] = {
      ort::kFloat, ort::kFloat, ort::kAny, ort::kFloat, ort::kAny, ort::kFloat, ort::kFloat,
      ort::kFloat, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 9;
  explicit SequenceAttentionSubLayer(const Node& node)
      : layer_(node),
        heads_(node.count("heads")),
        units_(node.count("units")),
        window_(node.attribute<int64_t>("window", 0)) {}
  void compute(Context& context) const;

 private:
  SubLayer layer_;
  int64_t heads_, units_, window_;
};

}  // namespace keras_transformer
