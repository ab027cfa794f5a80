// A residual sub-layer: x → projection → `between` → output → sum with the residual → LayerNorm. Rows
// pass through all of it a few at a time.
#pragma once

#include <memory>
#include <vector>

#include "linear_layer.h"
#include "norm.h"

namespace keras_transformer {

class SubLayer {
 public:
  static constexpr size_t kOwnInputs = 8;

  // Reads, after x and the residual, the projection, the output, gamma and beta.
  explicit SubLayer(const Node& node)
      : projection_(LinearLayer::read(node, 2)),
        output_(LinearLayer::read(node, 4)),
        norm_(node, 6) {}

  // Inputs and outputs of one run: x, residual, sums and norms (rows, width), and how many numbers of
  // a row the projection makes, raised to a floor, and the output layer takes.
  struct Rows {
    const float *x, *residual;
    float *sums, *norms;
    int64_t count, projected, given;
    float floor;
  };

  // Checks x and the residual and makes the outputs 0 and 1.
  Rows rows(Context& context, int64_t count, int64_t projected, float floor, int64_t given) const {
    const int64_t width = norm_.width();
    projection_->check_sizes(width, projected);
    output_->check_sizes(given, width);
    Rows rows{};
    rows.x = context.input<float>(0, "x", {count, width});
    rows.residual = context.input<float>(1, "residual", {count, width});
    rows.sums = context.output<float>(0, {count, width});
    rows.norms = context.output<float>(1, {count, width});
    rows.count = count, rows.projected = projected, rows.given = given, rows.floor = floor;
    return rows;
  }

  // Computes `count` rows from `row` on, in one thread. `between(row, count, projected, room)` takes
  // projections (count, projected) and returns what is multiplied (count, given), for which there is
  // room.
  template <typename Between>
  void some(const Rows& r, int64_t row, int64_t count, const Between& between) const {
    static thread_local std::vector<float> projections, mixed, changes;
    const int64_t width = norm_.width(), start = row * width;
    reserve(projections, count * r.projected);
    reserve(mixed, count * r.given);
    reserve(changes, count * width);
    projection_->run(r.x + start, count, width, r.projected, r.floor, projections.data());
    const float* values = between(row, count, projections.data(), mixed.data());
    output_->run(values, count, r.given, width, kLinear, changes.data());
    norm_.run(r.residual + start, changes.data(), count, r.sums + start, r.norms + start);
    trim(projections), trim(mixed), trim(changes);
  }

  // Computes all rows, one step after the other, each on all of onnxruntime's threads: for rows that
  // are too few to be divided. `between(projected, room)` does as above.
  template <typename Between>
  void in_steps(Context& context, const Rows& r, const Between& between) const {
    static thread_local std::vector<float> projections, mixed, changes;
    const int64_t width = norm_.width();
    reserve(projections, r.count * r.projected);
    reserve(mixed, r.count * r.given);
    reserve(changes, r.count * width);
    projection_->run(context, r.x, r.count, width, r.projected, r.floor, projections.data());
    const float* values = between(projections.data(), mixed.data());
    output_->run(context, values, r.count, r.given, width, kLinear, changes.data());
    norm_.run(r.residual, changes.data(), r.count, r.sums, r.norms);
    trim(projections), trim(mixed), trim(changes);
  }

  // Computes all rows, of which none needs another; `cost` is how many nanoseconds `between` takes
  // for a row.
  template <typename Between>
  void run(Context& context, const Rows& r, double cost, const Between& between) const {
    if (r.count <= kMostRows && least_rows() == kMostRows) {
      return in_steps(context, r, [&](const float* projected, float* room) {
        const float* values = room;
        context.parallel_for(r.count, cost, [&](int64_t first, int64_t last) {
          const float* from = projected + first * r.projected;
          const float* found = between(first, last - first, from, room + first * r.given);
          if (first == 0) values = found;
        });
        return values;
      });
    }
    cost += this->cost();
    for_few_rows(context, r.count, cost, least_rows(), [&](int64_t row, int64_t count) {
      some(r, row, count, between);
    });
  }

  // Nanoseconds that the layers take for a row, and the fewest rows that are worth a thread.
  double cost() const { return projection_->cost() + output_->cost() + 0.2 * norm_.width(); }
  int64_t least_rows() const { return std::max(projection_->least_rows(), output_->least_rows()); }

 private:
  // Numbers that a thread's room keeps, 8 MiB.
  static constexpr size_t kMostKept = 1 << 21;

  // Resizes a thread's room.
  static void reserve(std::vector<float>& room, int64_t size) {
    if (room.size() < static_cast<size_t>(size)) room.resize(size);
  }

  // Gives back what a long sequence needed.
  static void trim(std::vector<float>& room) {
    if (room.size() > kMostKept) room = std::vector<float>();
  }

  std::unique_ptr<const LinearLayer> projection_, output_;
  Norm norm_;
};

}  // namespace keras_transformer
