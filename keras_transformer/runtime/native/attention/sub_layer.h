// A residual sub-layer whose linear layers are in bytes: x → projection → `between` → output → sum
// with the residual → LayerNorm. Rows pass through all of it a few at a time.
#pragma once

#include <vector>

#include "bytes_layer.h"
#include "norm.h"

namespace keras_transformer {

class SubLayer {
 public:
  static constexpr size_t kOwnInputs = 8;

  // Reads, after x and the residual, the projection, the output, gamma and beta.
  explicit SubLayer(const Node& node) : projection_(node, 2), output_(node, 4), norm_(node, 6) {}

  // Makes the outputs 0 and 1: sums and norms (rows, width). `between(row, count, projected, room)`
  // takes projections (count, projected) of some rows and returns what is multiplied (count, given),
  // for which there is room; `cost` is how many nanoseconds it takes for a row.
  template <typename Between>
  void run(Context& context, int64_t rows, int64_t projected, float floor, int64_t given,
           double cost, const Between& between) const {
    const int64_t width = norm_.width();
    projection_.check_sizes(width, projected);
    output_.check_sizes(given, width);
    const float* x = context.input<float>(0, "x", {rows, width});
    const float* residual = context.input<float>(1, "residual", {rows, width});
    float *sums = context.output<float>(0, {rows, width});
    float *norms = context.output<float>(1, {rows, width});
    cost += projection_.cost() + output_.cost() + 0.2 * width;
    for_few_rows(context, rows, cost, [&](int64_t row, int64_t count) {
      static thread_local std::vector<float> projections, mixed, changes;
      reserve(projections, count * projected);
      reserve(mixed, count * given);
      reserve(changes, count * width);
      const int64_t start = row * width;
      projection_.run(x + start, count, width, projected, floor, projections.data());
      const float* values = between(row, count, projections.data(), mixed.data());
      output_.run(values, count, given, width, kLinear, changes.data());
      norm_.run(residual + start, changes.data(), count, sums + start, norms + start);
    });
  }

 private:
  // Resizes a thread's room.
  static void reserve(std::vector<float>& room, int64_t size) {
    if (room.size() < static_cast<size_t>(size)) room.resize(size);
  }

  BytesLayer projection_, output_;
  Norm norm_;
};

}  // namespace keras_transformer
