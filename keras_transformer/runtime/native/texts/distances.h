// Disentangled attention (He et al. 2021): vectors of distances that queries and keys are compared with.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "context.h"
#include "node.h"
#include "panels.h"

namespace keras_transformer {

// Those between the places of a text, as a part of the columns of all vectors.
struct Span {
  int64_t first, count;  // in whole vectors of columns
};

class Distances {
 public:
  Distances() = default;

  // Reads three inputs that are stored in the graph, or left out: vectors for queries and for keys, both
  // (heads, width, columns), and the column of each distance of a query from a key, (2·most + 1), from
  // that of a query `most` places before a key, or more, to as many behind it.
  Distances(const Node& node, size_t place)
      : asked_(node.constant<float>(place)),
        answered_(node.constant<float>(place + 1)),
        columns_(node.constant<int32_t>(place + 2)) {
    if (!are_given()) return;
    const Shape& shape = check_axes("vectors of distances for queries", asked_.shape, 3);
    check_shape("vectors of distances for keys", answered_.shape, {shape[0], shape[1], shape[2]});
    const int64_t count = check_axes("columns of distances", columns_.shape, 1)[0];
    const int32_t *first = columns_.data, *last = first + count;
    const bool are_all = count % 2 == 1 && std::is_sorted(first, last);
    if (are_all && *first >= 0 && last[-1] < shape[2] && shape[2] % kMostLanes == 0) return;
    throw std::invalid_argument(
        "columns of distances must rise from 0 or more to fewer than the columns of vectors, and be of as "
        "many distances before a key as behind it; columns of vectors must be a multiple of " +
        std::to_string(kMostLanes));
  }

  void check(Context& context, size_t place, int64_t heads, int64_t width) const {
    const Shape& shape = asked_.shape;
    if (are_given()) return check_shape("vectors of distances", shape, {heads, width, shape[2]});
    for (size_t one = place; one < place + 3; ++one) {
      if (!context.has_input(one)) continue;
      throw std::invalid_argument("vectors and columns of distances must be stored in the graph");
    }
  }

  bool are_given() const {
    return asked_.data != nullptr && answered_.data != nullptr && columns_.data != nullptr;
  }

  // Of texts with so many places, the vectors' columns.
  Span span(int64_t places, int64_t lanes) const {
    if (!are_given() || places < 1) return {0, 0};
    const int64_t first = column(1 - places) / lanes * lanes;
    return {first, rounded_up(column(places - 1) + 1 - first, lanes)};
  }

  int64_t column(int64_t distance) const {
    const int64_t most = columns_.shape[0] / 2;
    return columns_.data[most + std::clamp(distance, -most, most)];
  }

  Panels asked(int64_t head, const Span& span, int64_t lanes) const {
    return of(asked_, head, span, lanes);
  }
  Panels answered(int64_t head, const Span& span, int64_t lanes) const {
    return of(answered_, head, span, lanes);
  }

 private:
  static Panels of(const Constant<float>& vectors, int64_t head, const Span& span, int64_t lanes) {
    const int64_t width = vectors.shape[1], columns = vectors.shape[2];
    return {vectors.data + head * width * columns + span.first, width, span.count, columns, lanes};
  }

  Constant<float> asked_, answered_;
  Constant<int32_t> columns_;
};

}  // namespace keras_transformer
