// The simpler simple recurrent unit of Kim et al. 2019 ("From Research to Production and Back"), for one
// new token of each row. A cache holds two states of each row, which steps read and write in turn.
#include <algorithm>
#include <string>

#include "beam_table.h"
#include "layer_operators.h"
#include "versions.h"

namespace keras_transformer {
namespace {

constexpr int64_t kStates = 2;
// Nanoseconds that a feature takes.
constexpr double kCost = 0.8;

struct Step {
  float* states;         // (rows, 1, kStates, width)
  BeamTable table;
  int64_t rows, width, step;

  // Where a row's state after a token is.
  float* state_of(int64_t row, int64_t token) const {
    return states + (row * kStates + token % kStates) * width;
  }

  // The row that holds the state before the step's.
  int64_t row_before(int64_t row) const {
    const int32_t* beams = table.of_row(row);
    return beams == nullptr || step == 0 ? row : table.first_of(row) + beams[step - 1];
  }
};

// candidate + σ(gate) · (before - candidate)
KT_INLINE Floats mixed(Floats candidate, Floats gate, Floats before) {
  const Floats e = exp_of_negative(gate < 0.0f ? gate : -gate);  // For large gates of either sign, too.
  return candidate + (gate < 0.0f ? e : Floats{} + 1.0f) / (e + 1.0f) * (before - candidate);
}

// NaN stays.
KT_INLINE Floats relu(Floats v) { return v < 0.0f ? Floats{} : v; }

// packed (count, 2 · width): candidate and gate of the new tokens of some rows → output (count, width).
KT_INLINE void read_rows(const Step& s, int64_t first, int64_t count, const float* packed,
                         float* output) {
  for (int64_t row = first; row < first + count; ++row, packed += 2 * s.width, output += s.width) {
    const float *gate = packed + s.width, *before = s.state_of(s.row_before(row), s.step + 1);
    float* state = s.state_of(row, s.step);
    int64_t i = 0;
    for (; i + kLanes <= s.width; i += kLanes) {
      const Floats found = mixed(load(packed + i), load(gate + i), load(before + i));
      store(state + i, found);
      store(output + i, relu(found));
    }
    if (const int64_t left = s.width - i) {
      const Floats found = mixed(load_some(packed + i, left), load_some(gate + i, left),
                                 load_some(before + i, left));
      store_some(state + i, found, left);
      store_some(output + i, relu(found), left);
    }
  }
}

Step read_step(Context& context) {
  const Shape shape = context.shape(1, "cached states", 4);
  Step s{};
  s.rows = shape[0], s.width = check_positive("width", shape[3]);
  const float* old = context.input<float>(1, "cached states", {s.rows, 1, kStates, s.width});
  s.step = *context.input<int32_t>(2, "step", {1});
  if (s.step < 0) throw std::invalid_argument("step must be at least 0, got " + std::to_string(s.step));
  s.table = BeamTable::read(context, 3, s.rows);
  if (s.step > 0) s.table.check(s.rows, s.step - 1, s.step);
  s.states = context.output<float>(1, {s.rows, 1, kStates, s.width});
  // The same memory if the caller has bound it so.
  if (s.states != old) std::copy_n(old, s.rows * kStates * s.width, s.states);
  return s;
}

}  // namespace

void Ssru::compute(Context& context) const {
  const Step s = read_step(context);
  const float* packed = context.input<float>(0, "packed", {s.rows, 2 * s.width});
  float* output = context.output<float>(0, {s.rows, s.width});
  context.parallel_for(s.rows, kCost * s.width, [&](int64_t first, int64_t last) {
    fastest<read_rows>(s, first, last - first, packed + first * 2 * s.width,
                       output + first * s.width);
  });
}

}  // namespace keras_transformer
