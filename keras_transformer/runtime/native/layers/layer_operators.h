// The operators of the domain keras_transformer that embed, normalise or feed forward. Values are row-major.
#pragma once

#include "bfloat16_layer.h"
#include "int4_layer.h"
#include "norm.h"
#include "operator.h"
#include "scores.h"
#include "sub_layer.h"

namespace keras_transformer {

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

// Ids (…), of at most three axes, and what an operator writes for them.
struct RowsOfIds {
  const int32_t* ids;
  int64_t count;
  float* rows;  // (…, width)
};

// Throws if an id is none of a table of `units` rows; makes output 0.
RowsOfIds rows_of_ids(Context& context, size_t place, int64_t units, int64_t width);

// Calls `write(id, row)` for each id, which takes about `cost` nanoseconds.
template <typename Write>
void look_up(Context& context, size_t place, int64_t units, int64_t width, double cost,
             const Write& write) {
  const RowsOfIds found = rows_of_ids(context, place, units, width);
  context.parallel_for(found.count, cost, [&](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) write(found.ids[n], found.rows + n * width);
  });
}

// table in bytes (count, width) and the scale of each of its rows (count), ids (…) → their rows
// (…, width).
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

// weights in bfloat16 as those of `Bfloat16Linear`, ids (…) → of each the weights of the output with
// this number (…, width).
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

// weights in 4 bits as those of `Int4Linear`, ids (…) → of each the weights of the output with
// this number (…, width).
class Int4LookUp {
 public:
  static constexpr const char* kName = "Int4LookUp";
  static constexpr ort::ElementType kInputs[] = {ort::kUint8, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 2;
  explicit Int4LookUp(const Node& node)
      : weights_(node, 0), units_(node.count("units")), width_(node.count("width")) {
    weights_.check_sizes(width_, units_);
  }
  void compute(Context& context) const;

 private:
  Int4Weights weights_;
  int64_t units_, width_;
};

// table (count, width), ids (…) → their rows (…, width).
class Float32LookUp {
 public:
  static constexpr const char* kName = "Float32LookUp";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 2;
  explicit Float32LookUp(const Node& node) : table_(node.constant<float>(0, "table", 2)) {}
  void compute(Context& context) const;

 private:
  Constant<float> table_;
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

// found (rows, width) → scale · found.
class Scaled {
 public:
  static constexpr const char* kName = "Scaled";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 1;
  explicit Scaled(const Node& node) : scale_(node.attribute<float>("scale")) {}
  void compute(Context& context) const;

 private:
  float scale_;
};

// x (rows, width) → each of its numbers, bounded by `soft_cap` as scores are.
class SoftCap {
 public:
  static constexpr const char* kName = "SoftCap";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 1;
  explicit SoftCap(const Node& node) : cap_(node.attribute<float>("soft_cap")) {
    if (check_cap(cap_) == 0) throw std::invalid_argument("soft_cap must be positive, got 0");
  }
  void compute(Context& context) const;

 private:
  float cap_;
};

// x (rows, width), y (rows or 1, width) → x + y (rows, width).
class AddRows {
 public:
  static constexpr const char* kName = "AddRows";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 2;
  explicit AddRows(const Node&) {}
  void compute(Context& context) const;
};

// x (rows, width), y (count) → x with y behind each row (rows, width + count).
class AppendRow {
 public:
  static constexpr const char* kName = "AppendRow";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 2;
  explicit AppendRow(const Node&) {}
  void compute(Context& context) const;
};

// x, y (rows, width) and what `Kind` reads, gamma and perhaps beta (width) → x + y and its norm.
template <typename Kind>
class AddNormOperator {
 public:
  static constexpr const char* kName = Kind::kAdd;
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat,
                                                 ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 2 + Kind::kConstants;
  explicit AddNormOperator(const Node& node) : norm_(node, 2) {}
  void compute(Context& context) const;

 private:
  Kind norm_;
};

// x (rows, width) and what `Kind` reads → the norm of each row (rows, width).
template <typename Kind>
class NormRowsOperator {
 public:
  static constexpr const char* kName = Kind::kAlone;
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 1 + Kind::kConstants;
  explicit NormRowsOperator(const Node& node) : norm_(node, 1) {}
  void compute(Context& context) const;

 private:
  Kind norm_;
};

// packed (rows, 2 · width): candidates and forget gates of new tokens, their cached states
// (rows, 1, 2, width), step, beams as in `SelfAttention` → ReLU of each row's new state (rows, width),
// and the cache with it.
class Ssru {
 public:
  static constexpr const char* kName = "Ssru";
  static constexpr ort::ElementType kInputs[] = {ort::kFloat, ort::kFloat, ort::kInt32, ort::kInt32};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 3;
  explicit Ssru(const Node&) {}
  void compute(Context& context) const;
};
template <>
inline constexpr bool kUpdatesInPlace<Ssru> = true;

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

}  // namespace keras_transformer
