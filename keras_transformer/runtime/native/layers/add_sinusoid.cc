// The input of encoder and decoder: scaled embeddings plus sinusoids of their positions, section 3.5.
#include <cmath>
#include <vector>

#include "layer_operators.h"
#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// A position's vector. Every thread keeps the vectors of the positions that it asked for last, as
// the next sentence needs them again.
struct Position {
  std::vector<float> rates, waves;
  int32_t step = -1;
};

const float* waves_of(const float* rates, int64_t width, int32_t step) {
  static thread_local std::vector<Position> positions;
  const size_t slot = static_cast<size_t>(step) % 256;
  if (positions.size() <= slot) positions.resize(slot + 1);
  Position& position = positions[slot];
  const bool held = position.step == step && static_cast<int64_t>(position.rates.size()) == width &&
                    std::memcmp(position.rates.data(), rates, width * sizeof(float)) == 0;
  if (!held) {
    position.rates.assign(rates, rates + width);
    position.waves.resize(width);
    position.step = step;
    for (int64_t i = 0; i < width; ++i) {
      const double angle = static_cast<float>(step) * rates[i];
      position.waves[i] = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return position.waves.data();
}

KT_INLINE void scale_and_add(const float* found, const float* waves, float scale, int64_t width,
                             float* output) {
  for (int64_t i = 0; i < width; ++i) output[i] = found[i] * scale + waves[i];
}

}  // namespace

void AddSinusoid::compute(Context& context) const {
  const Shape shape = context.shape(0);
  const int64_t rows = shape[0], width = rates_.shape[0];
  check_shape("found", shape, {rows, width});
  const float* found = context.input<float>(0);
  const int32_t* positions = context.input<int32_t>(1);
  const bool all_one = context.shape(1).is({1});
  if (!all_one) context.input<int32_t>(1, "positions", {rows});
  float* output = context.output<float>(0, {rows, width});
  for (int64_t row = 0; row < rows; ++row) {
    const float* waves = waves_of(rates_.data, width, positions[all_one ? 0 : row]);
    fastest<scale_and_add>(found + row * width, waves, scale_, width, output + row * width);
  }
}

}  // namespace keras_transformer
