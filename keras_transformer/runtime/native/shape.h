// The sizes of a tensor's axes, and checks of them, which throw `std::invalid_argument`.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string>

namespace keras_transformer {

constexpr size_t kMostAxes = 4;

struct Shape {
  size_t axes = 0;  // If there are more than kMostAxes, only the first sizes are known.
  std::array<int64_t, kMostAxes> sizes{};

  int64_t operator[](size_t axis) const { return sizes[axis]; }

  bool operator==(const Shape& other) const { return axes == other.axes && sizes == other.sizes; }

  bool is(std::initializer_list<int64_t> wanted) const {
    return axes == wanted.size() && std::equal(wanted.begin(), wanted.end(), sizes.begin());
  }

  std::string text() const {
    std::string text = "(";
    for (size_t axis = 0; axis < std::min(axes, kMostAxes); ++axis) {
      text += std::to_string(sizes[axis]) + ", ";
    }
    return text + (axes > kMostAxes ? "...)" : ")");
  }
};

// Throws if sizes or their number are not the wanted ones.
inline void check_shape(const char* name, const Shape& found, const Shape& wanted) {
  if (found == wanted) return;
  throw std::invalid_argument(std::string(name) + " must have the shape " + wanted.text() +
                              ", got " + found.text());
}

inline void check_shape(const char* name, const Shape& found,
                        std::initializer_list<int64_t> sizes) {
  if (found.is(sizes)) return;
  Shape wanted{sizes.size()};
  std::copy(sizes.begin(), sizes.end(), wanted.sizes.begin());
  check_shape(name, found, wanted);
}

inline const Shape& check_axes(const char* name, const Shape& found, size_t axes) {
  if (found.axes == axes) return found;
  throw std::invalid_argument(std::string(name) + " must have " + std::to_string(axes) +
                              (axes == 1 ? " axis" : " axes") + ", got the shape " + found.text());
}

// Throws if a size or a number of parts is not in the range from 1 to the largest id.
inline int64_t check_positive(const char* name, int64_t value) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (value >= 1 && value <= kMost) return value;
  throw std::invalid_argument(std::string(name) + " must be from 1 to " + std::to_string(kMost) +
                              ", got " + std::to_string(value));
}

}  // namespace keras_transformer
