// Activations of rows, gates, and the feed-forward sub-layer with GELU between its linear layers.
#include "activations.h"

#include "versions.h"

namespace keras_transformer {
namespace {

// Nanoseconds that a number takes.
constexpr double kCost = 0.5;

template <typename Unit>
KT_INLINE void apply(const float* values, int64_t count, float* output) {
  constexpr int64_t kStep = kLanesOf<Wide>;
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) store(output + i, Unit::of(load<Wide>(values + i)));
  if (i < count) store_some(output + i, Unit::of(load_some<Wide>(values + i, count - i)), count - i);
}

template <typename Unit>
KT_INLINE void gate(const float* values, int64_t rows, int64_t units, float* output) {
  constexpr int64_t kStep = kLanesOf<Wide>;
  for (int64_t row = 0; row < rows; ++row, values += 2 * units, output += units) {
    const float* factors = values + units;
    int64_t i = 0;
    for (; i + kStep <= units; i += kStep) {
      store(output + i, Unit::of(load<Wide>(values + i)) * load<Wide>(factors + i));
    }
    if (i == units) continue;
    const int64_t left = units - i;
    const Wide rest = Unit::of(load_some<Wide>(values + i, left)) * load_some<Wide>(factors + i, left);
    store_some(output + i, rest, left);
  }
}

}  // namespace

template <typename Unit>
void GateOperator<Unit>::compute(Context& context) const {
  const Shape shape = context.shape(0, "values", 2);
  const int64_t rows = shape[0], units = shape[1] / 2;
  check_shape("values", shape, {rows, 2 * units});
  const float* values = context.input<float>(0);
  float* output = context.output<float>(0, {rows, units});
  context.parallel_for(rows, kCost * units, [&](int64_t first, int64_t last) {
    fastest<gate<Unit>>(values + 2 * first * units, last - first, units, output + first * units);
  });
}

template <typename Unit>
void GeluOperator<Unit>::compute(Context& context) const {
  const Shape shape = context.shape(0, "values", 2);
  const int64_t rows = shape[0], width = shape[1];
  const float* values = context.input<float>(0);
  float* output = context.output<float>(0, {rows, width});
  context.parallel_for(rows, kCost * width, [&](int64_t first, int64_t last) {
    fastest<apply<Unit>>(values + first * width, (last - first) * width, output + first * width);
  });
}

template <typename Unit>
void GeluSubLayer<Unit>::compute(Context& context) const {
  const auto rows = layer_.rows(context, context.shape(0)[0], units_, kLinear, units_);
  const auto activate = [&](int64_t, int64_t count, const float* projected, float* room) {
    fastest<apply<Unit>>(projected, count * units_, room);
    return static_cast<const float*>(room);
  };
  layer_.run(context, rows, kCost * units_, activate);
}

template class GateOperator<ExactGelu>;
template class GateOperator<TanhGelu>;
template class GateOperator<Silu>;
template class GeluOperator<ExactGelu>;
template class GeluOperator<TanhGelu>;
template class GeluSubLayer<ExactGelu>;
template class GeluSubLayer<TanhGelu>;

}  // namespace keras_transformer
