// The operators of the domain keras_transformer: what each takes and returns. Values are row-major.
#pragma once

#include <vector>

#include "bfloat16_layer.h"
#include "byte_head.h"
#include "bytes_layer.h"
#include "norm.h"
#include "operator.h"
#include "sub_layer.h"

namespace keras_transformer {

// packed (rows, 3·heads·width), cached keys and values (rows, heads, capacity, width), step (1),
// which beam's row holds each token (batch, beams, capacity), left out if a sentence has one row
// → (rows, heads·width) and the caches.
struct SelfAttention {
  static constexpr const char* kName = "SelfAttention";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat, ort::kInt32,
                                                 ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 4;
  explicit SelfAttention(const Node&) {}
  void compute(Context& context) const;
};

// queries (batch·beams, heads·width), keys and values (batch, heads, length, width), mask
// (batch, length) → (batch·beams, heads·width).
struct CrossAttention {
  static constexpr const char* kName = "CrossAttention";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat,
                                                 ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 4;
  explicit CrossAttention(const Node&) {}
  void compute(Context& context) const;
};

// packed (rows, 3·heads·width), mask (batch, length) → (rows, heads·width); there is a row for each
// place, or one for each token.
class SequenceAttention {
 public:
  static constexpr const char* kName = "SequenceAttention";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 2;
  explicit SequenceAttention(const Node& node) : heads_(node.count("heads")) {}
  void compute(Context& context) const;

 private:
  int64_t heads_;
};

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

// ids (batch, length) → mask (batch, length), 1 where there is no padding, and each token's position
// (batch·length).
class TokenPositions {
 public:
  static constexpr const char* kName = "TokenPositions";
  static constexpr ort::ElementType kInputs[] = {ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32, ort::kInt32};
  static constexpr size_t kRequiredInputs = 1;
  explicit TokenPositions(const Node& node)
      : pad_(static_cast<int32_t>(node.attribute<int64_t>("pad"))) {}
  void compute(Context& context) const;

 private:
  int32_t pad_;
};

// ids (batch, length) → mask (batch, length), 1 where there is no padding, and of each token, sentence
// after sentence, the id (tokens) and the position (tokens).
class PackTokens {
 public:
  static constexpr const char* kName = "PackTokens";
  static constexpr ort::ElementType kInputs[] = {ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32, ort::kInt32, ort::kInt32};
  static constexpr size_t kRequiredInputs = 1;
  explicit PackTokens(const Node& node)
      : pad_(static_cast<int32_t>(node.attribute<int64_t>("pad"))) {}
  void compute(Context& context) const;

 private:
  int32_t pad_;
};

// table in bytes (count, width) and the scale of each of its rows (count), ids (rows) → their rows
// (rows, width).
class LookUp {
 public:
  static constexpr const char* kName = "LookUp";
  static constexpr ort::ElementType kInputs[] = {ort::kInt8, ort::kFloat, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit LookUp(const Node& node)
      : table_(node.constant<int8_t>(0, "table", 2)),
        scales_(node.constant<float>(1, "scales", {table_.shape[0]})) {}
  void compute(Context& context) const;

 private:
  Constant<int8_t> table_;
  const float* scales_;
};

// weights in bfloat16 as those of `Bfloat16Linear`, ids (rows) or (batch, length) → of each the weights
// of the output with this number, `width` of them.
class Bfloat16LookUp {
 public:
  static constexpr const char* kName = "Bfloat16LookUp";
  static constexpr ort::ElementType kInputs[] = {ort::kBfloat16, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 2;
  explicit Bfloat16LookUp(const Node& node)
      : weights_(node.constant<uint16_t>(0, "weights", 4)),
        units_(node.count("units")),
        width_(node.count("width")) {
    check_packed(weights_.shape, width_, units_);
  }
  void compute(Context& context) const;

 private:
  Constant<uint16_t> weights_;
  int64_t units_, width_;
};

// found (rows, width), the position of each or of all (rows or 1), each feature's rate (width) →
// scale · found + PE(position).
class AddSinusoid {
 public:
  static constexpr const char* kName = "AddSinusoid";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit AddSinusoid(const Node& node)
      : rates_(node.constant<float>(2, "rates", 1)), scale_(node.attribute<float>("scale")) {}
  void compute(Context& context) const;

 private:
  Constant<float> rates_;
  float scale_;
};

// x, y (rows, width), gamma and beta (width) → x + y and LayerNorm(x + y).
class AddNorm {
 public:
  static constexpr const char* kName = "AddNorm";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 4;
  explicit AddNorm(const Node& node) : norm_(node, 2) {}
  void compute(Context& context) const;

 private:
  Norm norm_;
};

// x (rows, width), gamma and beta (width) → LayerNorm(x).
class NormRows {
 public:
  static constexpr const char* kName = "NormRows";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit NormRows(const Node& node) : norm_(node, 1) {}
  void compute(Context& context) const;

 private:
  Norm norm_;
};

// states (rows, width), a matrix in bytes as `ByteHead` reads it, and itself (vocabulary, width) →
// the id of each row's largest logit (rows). If the matrix is left out, logits are the products of
// bytes.
class BestToken {
 public:
  static constexpr const char* kName = "BestToken";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt8, ort::kInt32, ort::kFloat,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32};
  static constexpr size_t kRequiredInputs = 4;
  explicit BestToken(const Node& node);
  void compute(Context& context) const;

 private:
  ByteHead head_;
  Constant<float> matrix_;
};

// logits (batch·beams, vocabulary), the hypotheses' log-probabilities (batch, beams), how many (1)
// → ids, log-probabilities and beams of the best continuations (batch, count), best first.
struct BestContinuations {
  static constexpr const char* kName = "BestContinuations";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kInt64};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32, ort::kFloat, ort::kInt32};
  static constexpr size_t kRequiredInputs = 3;
  explicit BestContinuations(const Node&) {}
  void compute(Context& context) const;
};

// The same of states (batch·beams, width), whose products with a matrix in bytes, as `ByteHead` reads
// it, are the logits → the same and the logits.
class BestContinuationsOfStates {
 public:
  static constexpr const char* kName = "BestContinuationsOfStates";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kInt64,
                                                 ort::kInt8,  ort::kInt32, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32, ort::kFloat, ort::kInt32,
                                                  ort::kFloat};
  static constexpr size_t kRequiredInputs = 6;
  explicit BestContinuationsOfStates(const Node& node) : head_(node, 3) {}
  void compute(Context& context) const;

 private:
  ByteHead head_;
};

// states (batch·beams, width), the ids of a batch's shortlist (listed), the places of each sentence's
// among them (batch, most), filled up with -1, and the vocabulary's matrix (vocabulary, width) in
// float32 or bfloat16 → the logits of each row's own ids (batch·beams, most), filled up with -∞.
class ListedLogits {
 public:
  static constexpr const char* kName = "ListedLogits";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32, ort::kInt32,
                                                 ort::kAny};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 4;
  explicit ListedLogits(const Node& node);
  void compute(Context& context) const;

 private:
  Constant<float> matrix_;
  Constant<uint16_t> halved_;  // One of the two has data.
};

// A vocabulary's matrix in bytes: rows times scales. What states have too much, as bytes are 0 to
// 255, adds `offsets` to the sums.
struct ByteTable {
  const int8_t* bytes;
  const float* scales;
  const int32_t* offsets;
};

// The same with the matrix in bytes (vocabulary, width) and the scale of each of its rows
// (vocabulary).
class ListedByteLogits {
 public:
  static constexpr const char* kName = "ListedByteLogits";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32, ort::kInt32, ort::kInt8,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 5;
  explicit ListedByteLogits(const Node& node);
  void compute(Context& context) const;

 private:
  Constant<int8_t> bytes_;
  const float* scales_;
  std::vector<int32_t> offsets_;
};

// the ids of a batch's shortlist (listed), the places of each sentence's among them (batch, most),
// filled up with -1, and some columns of these, (batch) or (batch, count) → the ids there. That of a
// place that is filled up is the last.
struct ListedIds {
  static constexpr const char* kName = "ListedIds";
  static constexpr ort::ElementType kInputs[] = {ort::kInt32, ort::kInt32, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32};
  static constexpr size_t kRequiredInputs = 3;
  explicit ListedIds(const Node&) {}
  void compute(Context& context) const;
};

// values (rows, width) → the place of each row's largest value (rows).
struct LargestPlace {
  static constexpr const char* kName = "LargestPlace";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32};
  static constexpr size_t kRequiredInputs = 1;
  explicit LargestPlace(const Node&) {}
  void compute(Context& context) const;
};

// values (rows, width), weights and what each output ends with, both as in `BytesLayer` or
// `Bfloat16Layer` → values · weights + bias (rows, outputs), through ReLU if asked.
template <typename Layer>
class LinearOperator {
 public:
  static constexpr const char* kName = Layer::kOperator;
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, Layer::kWeights, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit LinearOperator(const Node& node)
      : layer_(node, 1),
        units_(node.count("units")),
        floor_(node.attribute<int64_t>("relu") ? kRelu : kLinear) {}

  void compute(Context& context) const {
    const Shape shape = context.shape(0, "values", 2);
    const int64_t rows = shape[0], width = shape[1];
    layer_.check_sizes(width, units_);
    const float* values = context.input<float>(0);
    float* output = context.output<float>(0, {rows, units_});
    layer_.run(context, values, rows, width, units_, floor_, output);
  }

 private:
  Layer layer_;
  int64_t units_;
  float floor_;
};

using BytesLinear = LinearOperator<BytesLayer>;
using Bfloat16Linear = LinearOperator<Bfloat16Layer>;

// x and residual (rows, width), two linear layers as those of `BytesLinear` or of `Bfloat16Linear`,
// gamma and beta (width),
// then caches, step and beams as in `SelfAttention` → residual + the sub-layer's output, LayerNorm of
// that, and the caches.
class SelfAttentionSubLayer {
 public:
  static constexpr const char* kName = "SelfAttentionSubLayer";
  static constexpr ort::ElementType kInputs[] = {
      ort::kFloat, ort::kFloat, ort::kAny, ort::kFloat, ort::kAny, ort::kFloat, ort::kFloat,
      ort::kFloat, ort::kFloat, ort::kFloat, ort::kInt32, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat, ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 11;
  explicit SelfAttentionSubLayer(const Node& node) : layer_(node) {}
  void compute(Context& context) const;

 private:
  SubLayer layer_;
};

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
      : layer_(node), heads_(node.count("heads")), units_(node.count("units")) {}
  void compute(Context& context) const;

 private:
  SubLayer layer_;
  int64_t heads_, units_;
};

// The same with nothing but ReLU between the linear layers → sums and norms.
class FeedForwardSubLayer {
 public:
  static constexpr const char* kName = "FeedForwardSubLayer";
  static constexpr ort::ElementType kInputs[] = {
      ort::kFloat, ort::kFloat, ort::kAny, ort::kFloat, ort::kAny, ort::kFloat, ort::kFloat,
      ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 8;
  explicit FeedForwardSubLayer(const Node& node)
      : layer_(node), units_(node.count("units")) {}
  void compute(Context& context) const;

 private:
  SubLayer layer_;
  int64_t units_;
};

// values (rows, width) → bytes (rows, width) and scales (rows, 1): value = (byte - middle) · scale;
// the middle is 128, or 0 if no value is negative.
class QuantizeRows {
 public:
  static constexpr const char* kName = "QuantizeRows";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kUint8, ort::kFloat};
  static constexpr size_t kRequiredInputs = 1;
  explicit QuantizeRows(const Node& node);
  void compute(Context& context) const;

 private:
  int64_t middle_;
};

// sums (rows, width), scales (width) and of rows (rows, 1), and a bias (width) or none → sums · scales
// + bias (rows, width), through ReLU if asked.
class ScaleSums {
 public:
  static constexpr const char* kName = "ScaleSums";
  static constexpr ort::ElementType kInputs[] = {ort::kInt32, ort::kFloat, ort::kFloat,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit ScaleSums(const Node& node);
  void compute(Context& context) const;

 private:
  Constant<float> scales_;
  std::vector<float> bias_;
  bool is_bias_stored_;
  float floor_;
};

}  // namespace keras_transformer
