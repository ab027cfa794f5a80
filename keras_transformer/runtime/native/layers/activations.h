// Activations: the Gaussian error linear unit, x Φ(x), of Hendrycks and Gimpel 2016, their form with a
// tangent, and the sigmoid linear unit.
#pragma once

#include "operator.h"
#include "sub_layer.h"
#include "vectors.h"

namespace keras_transformer {

// Φ by formula 7.1.26 of Abramowitz and Stegun, within 8e-8; of a negative x there is no difference of
// two close numbers.
struct ExactGelu {
  static constexpr const char *kName = "Gelu", *kSubLayer = "GeluSubLayer", *kGate = "GeluGate";

  template <typename Vector>
  KT_INLINE static Vector of(Vector x) {
    const Vector size = x < 0.0f ? -x : x;
    const Vector t = 1.0f / (size * 0.231641900f + 1.0f);  // 0.3275911 / √2
    Vector tail = t * 0.5307027145f - 0.7265760135f;       // Half of the formula's factors.
    tail = tail * t + 0.7107068705f;
    tail = tail * t - 0.142248368f;
    tail = tail * t + 0.127414796f;
    tail *= t * exp_of_negative(size * size * -0.5f);
    return x * (x < 0.0f ? tail : 1.0f - tail);
  }
};

// x / 2 · (1 + tanh y) = x / (1 + e⁻²ʸ) with y = √(2/π) (x + 0.044715 x³).
struct TanhGelu {
  static constexpr const char *kName = "TanhGelu", *kSubLayer = "TanhGeluSubLayer",
                              *kGate = "TanhGeluGate";

  template <typename Vector>
  KT_INLINE static Vector of(Vector x) {
    const Vector twice = x * (x * x * 0.0713548163f + 1.5957691216f);
    const Vector e = exp_of_negative(twice < 0.0f ? twice : -twice);
    return x * (twice < 0.0f ? e : Vector{} + 1.0f) / (e + 1.0f);
  }
};

// x / (1 + e⁻ˣ), of Elfwing et al. 2018.
struct Silu {
  static constexpr const char *kName = "Silu", *kGate = "SiluGate";

  template <typename Vector>
  KT_INLINE static Vector of(Vector x) {
    const Vector e = exp_of_negative(x < 0.0f ? x : -x);
    return x * (x < 0.0f ? e : Vector{} + 1.0f) / (e + 1.0f);
  }
};

// values (rows, 2 · units) → the unit of each row's first half times its second (rows, units), as gated
// linear units have it (Shazeer 2020).
template <typename Unit>
class GateOperator {
 public:
  static constexpr const char* kName = Unit::kGate;
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 1;
  explicit GateOperator(const Node&) {}
  void compute(Context& context) const;
};

// values (rows, width) → the unit of each (rows, width).
template <typename Unit>
class GeluOperator {
 public:
  static constexpr const char* kName = Unit::kName;
  static constexpr ort::ElementType kInputs[] = {ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat};
  static constexpr size_t kRequiredInputs = 1;
  explicit GeluOperator(const Node&) {}
  void compute(Context& context) const;
};

// As `FeedForwardSubLayer`, with GELU between the linear layers in place of ReLU.
template <typename Unit>
class GeluSubLayer {
 public:
  static constexpr const char* kName = Unit::kSubLayer;
  static constexpr ort::ElementType kInputs[] = {
      ort::kFloat, ort::kFloat, ort::kAny, ort::kFloat, ort::kAny, ort::kFloat, ort::kFloat,
      ort::kFloat};
  static constexpr ort::ElementType kOutputs[] = {ort::kFloat, ort::kFloat};
  static constexpr size_t kRequiredInputs = 8;
  explicit GeluSubLayer(const Node& node) : layer_(node), units_(node.count("units")) {}
  void compute(Context& context) const;

 private:
  SubLayer layer_;
  int64_t units_;
};

}  // namespace keras_transformer
