// Which beam's row holds each token of a hypothesis, so that caches stay where they are when hypotheses
// change places.
#pragma once

#include "operator.h"

namespace keras_transformer {

struct BeamTable {
  static constexpr int64_t kAnyNumber = -1;

  const int32_t* beams = nullptr;  // (batch, size, capacity); null if a sentence has one row.
  int64_t size = 1, capacity = 0;

  // Reads the input, if there is one, for caches of `rows` rows, and of `tokens` tokens if they are told.
  static BeamTable read(Context& context, size_t place, int64_t rows, int64_t tokens = kAnyNumber);

  // Throws if a token from `first` to `last` - 1 of one of the rows is held by no row of its sentence.
  void check(int64_t rows, int64_t first, int64_t last) const;

  // Of each token of a row the beam that holds it, or null.
  const int32_t* of_row(int64_t row) const {
    return beams == nullptr ? nullptr : beams + row * capacity;
  }

  // The first row of the sentence that a row belongs to.
  int64_t first_of(int64_t row) const { return row - row % size; }
};

}  // namespace keras_transformer
