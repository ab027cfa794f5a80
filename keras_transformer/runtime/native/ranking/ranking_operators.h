// The operators of the domain keras_transformer that choose tokens. Values are row-major.
#pragma once

#include <vector>

#include "byte_head.h"
#include "float32_layer.h"
#include "operator.h"

namespace keras_transformer {

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

// The same with a matrix in float32 (vocabulary, width).
class BestContinuationsOfFloats {
 public:
  static constexpr const char* kName = "BestContinuationsOfFloats";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kInt64,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kInt32, ort::kFloat, ort::kInt32,
                                                  ort::kFloat};
  static constexpr size_t kRequiredInputs = 4;
  explicit BestContinuationsOfFloats(const Node& node) : head_(node, 3, true) {}
  void compute(Context& context) const;

 private:
  Float32Layer head_;
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

}  // namespace keras_transformer
