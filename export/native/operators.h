// The operators of the domain keras_transformer: what each takes and gives. Values are row-major.
#pragma once

#include "operator.h"

namespace keras_transformer {

// packed (rows, 3·heads·width), cached keys and values (rows, heads, capacity, width), step (1),
// which beam's row holds each token (batch, beams, capacity), left out where a sentence has one row
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

// found (rows, width), step (1), each feature's rate (width) → scale · found + PE(step).
class AddSinusoid {
 public:
  static constexpr const char* kName = "AddSinusoid";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit AddSinusoid(const Node& node)
      : rates_(node.constant<float>(2, "rates")), scale_(node.attribute<float>("scale")) {}
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
  explicit AddNorm(const Node& node)
      : gamma_(node.constant<float>(2, "gamma")),
        beta_(node.constant<float>(3, "beta", {gamma_.shape[0]})),
        epsilon_(node.attribute<float>("epsilon")) {}
  void compute(Context& context) const;

 private:
  Constant<float> gamma_;
  const float* beta_;
  float epsilon_;
};

// states (rows, width), the matrix in bytes (blocks, quads, 8, 4), its starts (blocks, 8), bounds
// (blocks, 3, 8) and itself (vocabulary, width); see `screen.h` → the id of each row's largest
// logit (rows). Where the matrix is left out, logits are the products of bytes.
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
  int64_t vocabulary_;
  Constant<int8_t> bytes_;
  const int32_t* starts_;
  const float* bounds_;
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

// values (rows, width) → the place of each row's largest value (rows).
struct LargestPlace {
  static constexpr const char* kName = "LargestPlace";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32};
  static constexpr size_t kRequiredInputs = 1;
  explicit LargestPlace(const Node&) {}
  void compute(Context& context) const;
};

// values (rows, width) → bytes (rows, width) and scales (rows, 1): value = (byte - middle) · scale;
// the middle is 128, or 0 for values of which none is negative.
class QuantizeRows {
 public:
  static constexpr const char* kName = "QuantizeRows";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kUint8, ort::kFloat};
  static constexpr size_t kRequiredInputs = 1;
  explicit QuantizeRows(const Node& node) : middle_(node.attribute<int64_t>("middle")) {}
  void compute(Context& context) const;

 private:
  int64_t middle_;
};

// sums (rows, width), scales (width) and of rows (rows, 1) → sums · scales (rows, width).
class ScaleSums {
 public:
  static constexpr const char* kName = "ScaleSums";
  static constexpr ort::ElementType kInputs[] = {ort::kInt32, ort::kFloat, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit ScaleSums(const Node& node) : scales_(node.constant<float>(1, "scales")) {}
  void compute(Context& context) const;

 private:
  Constant<float> scales_;
};

}  // namespace keras_transformer
