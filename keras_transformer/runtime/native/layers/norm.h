// A residual sum and the normalisation that reads it: x + y, and LayerNorm(x + y) or RMSNorm(x + y).
#pragma once

#include "operator.h"

namespace keras_transformer {

class Norm {
 public:
  // What normalises sums of rows, rows alone, and queries and keys.
  static constexpr const char *kAdd = "AddNorm", *kAlone = "NormRows", *kOfHeads = "NormHeads";
  static constexpr size_t kConstants = 2;

  // Reads gamma and beta (width), which are consecutive inputs, and the attribute epsilon.
  Norm(const Node& node, size_t place)
      : gamma_(node.constant<float>(place, "gamma", 1)),
        beta_(node.constant<float>(place + 1, "beta", {gamma_.shape[0]})),
        epsilon_(node.attribute<float>("epsilon")) {}

  int64_t width() const { return gamma_.shape[0]; }

  // x, y (rows, width) → sums and norms (rows, width), which may be in the same memory.
  void run(const float* x, const float* y, int64_t rows, float* sums, float* norms) const;

 private:
  Constant<float> gamma_;
  const float* beta_;
  float epsilon_;
};

// Of Zhang and Sennrich 2019: x / √(mean(x²) + ε) · γ.
class RmsNorm {
 public:
  static constexpr const char *kAdd = "AddRmsNorm", *kAlone = "RmsNormRows", *kOfHeads = "RmsNormHeads";
  static constexpr size_t kConstants = 1;

  // Reads gamma (width) and the attribute epsilon.
  RmsNorm(const Node& node, size_t place)
      : gamma_(node.constant<float>(place, "gamma", 1)),
        epsilon_(node.attribute<float>("epsilon")) {}

  int64_t width() const { return gamma_.shape[0]; }

  // As `Norm::run`.
  void run(const float* x, const float* y, int64_t rows, float* sums, float* norms) const;

 private:
  Constant<float> gamma_;
  float epsilon_;
};

}  // namespace keras_transformer
