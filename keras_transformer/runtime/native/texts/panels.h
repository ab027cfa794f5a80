// Products with matrices in panels: as many columns as a vector has, in which a product reads one
// vector after the other, and several rows of factors read each.
#pragma once

#include <algorithm>
#include <type_traits>

#include "vectors.h"

namespace keras_transformer {

constexpr int64_t kMostLanes = kLanesOf<Wide>;

inline int64_t rounded_up(int64_t count, int64_t step) { return (count + step - 1) / step * step; }

// A matrix (rows, columns); `row` and `panel` are how far the next row and the next panel begin behind one.
struct Panels {
  const float* data;
  int64_t rows, columns, row, panel;
};

// output[q][c] = start[c] + Σ factors[q][i] · matrix[i][c] for kCount rows of factors and the columns of
// kParts panels from `column` on; each sum is added up in the same order whatever these counts are.
template <typename Vector, int kCount, int kParts>
KT_INLINE void multiply_panels(const float* factors, int64_t across, const Panels& matrix,
                               int64_t column, const float* start, float* output, int64_t stride) {
  constexpr int64_t kStep = kLanesOf<Vector>;
  const float* panel = matrix.data + column / kStep * matrix.panel;
  Vector sums[kCount][kParts] = {};
  for (int part = 0; start != nullptr && part < kParts; ++part) {
    const Vector first = load<Vector>(start + column + part * kStep);
    for (int q = 0; q < kCount; ++q) sums[q][part] = first;
  }
  for (int64_t i = 0; i < matrix.rows; ++i) {
    Vector row[kParts];
    for (int part = 0; part < kParts; ++part) {
      row[part] = load<Vector>(panel + part * matrix.panel + i * matrix.row);
    }
    for (int q = 0; q < kCount; ++q) {
      for (int part = 0; part < kParts; ++part) sums[q][part] += factors[q * across + i] * row[part];
    }
  }
  for (int part = 0; part < kParts; ++part) {
    const int64_t first = column + part * kStep, count = std::min(kStep, matrix.columns - first);
    for (int q = 0; q < kCount; ++q) {
      float* to = output + q * stride + first;
      count == kStep ? store(to, sums[q][part]) : store_some(to, sums[q][part], count);
    }
  }
}

// The same for all columns.
template <typename Vector, int kCount>
KT_INLINE void multiply(const float* factors, int64_t across, const Panels& matrix,
                        const float* start, float* output, int64_t stride) {
  constexpr int64_t kStep = kLanesOf<Vector>;
  constexpr int kParts = 2;
  int64_t column = 0;
  for (; column + kStep < matrix.columns; column += kParts * kStep) {
    multiply_panels<Vector, kCount, kParts>(factors, across, matrix, column, start, output, stride);
  }
  if (column < matrix.columns) {
    multiply_panels<Vector, kCount, 1>(factors, across, matrix, column, start, output, stride);
  }
}

// Calls `some(count, row)` for parts of `rows`; the counts are types, so that the tiles of sums of the
// largest fill the registers.
template <int kMost, typename Some>
KT_INLINE void in_groups(int64_t rows, const Some& some) {
  int64_t row = 0;
  for (; row + kMost <= rows; row += kMost) some(std::integral_constant<int, kMost>{}, row);
  for (; row + 4 <= rows; row += 4) some(std::integral_constant<int, 4>{}, row);
  for (; row < rows; ++row) some(std::integral_constant<int, 1>{}, row);
}

}  // namespace keras_transformer
