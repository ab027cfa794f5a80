// The sines and cosines of a position's angles, for sinusoids and for rotary positions.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

namespace keras_transformer {

// Of one position. Every thread keeps those of the positions that it asked for last, as the next
// sentence needs them again.
struct Waves {
  std::vector<float> rates, values;
  int32_t step = -1;
};

// Returns sin(step · rates[0]), cos(step · rates[1]), sin(step · rates[2]) and so on, `width` of them.
inline const float* waves_of(const float* rates, int64_t width, int32_t step) {
  static thread_local std::vector<Waves> positions;
  const size_t slot = static_cast<size_t>(step) % 256;
  if (positions.size() <= slot) positions.resize(slot + 1);
  Waves& waves = positions[slot];
  const bool held = waves.step == step && static_cast<int64_t>(waves.rates.size()) == width &&
                    std::memcmp(waves.rates.data(), rates, width * sizeof(float)) == 0;
  if (!held) {
    waves.rates.assign(rates, rates + width);
    waves.values.resize(width);
    waves.step = step;
    for (int64_t i = 0; i < width; ++i) {
      const double angle = static_cast<float>(step) * rates[i];
      waves.values[i] = static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return waves.values.data();
}

}  // namespace keras_transformer
