#include "beam_table.h"

#include <algorithm>
#include <string>

#include "vectors.h"
#include "versions.h"

namespace keras_transformer {
namespace {

// Whether all are from 0 to `limit` - 1.
KT_INLINE bool all_below(const int32_t* values, int64_t count, uint32_t limit) {
  uint32_t top = 0;
  for (int64_t i = 0; i < count; ++i) top = std::max(top, static_cast<uint32_t>(values[i]));
  return top < limit;
}

}  // namespace

BeamTable BeamTable::read(Context& context, size_t place, int64_t rows, int64_t tokens) {
  BeamTable table;
  if (!context.has_input(place)) return table;
  const Shape shape = context.shape(place, "beams", 3);
  table.size = shape[1], table.capacity = tokens == kAnyNumber ? shape[2] : tokens;
  if (table.size < 1 || rows % table.size != 0) {
    throw std::invalid_argument("caches must have a multiple of " + std::to_string(table.size) +
                                " rows, the beams of a sentence, got " + std::to_string(rows));
  }
  table.beams =
      context.input<int32_t>(place, "beams", {rows / table.size, table.size, table.capacity});
  return table;
}

void BeamTable::check(int64_t rows, int64_t first, int64_t last) const {
  if (beams == nullptr) return;
  if (last > capacity) {
    throw std::invalid_argument("step " + std::to_string(last) + " is outside beams of " +
                                std::to_string(capacity) + " tokens");
  }
  for (int64_t row = 0; row < rows; ++row) {
    const int32_t* own = of_row(row);
    if (fastest<all_below>(own + first, last - first, static_cast<uint32_t>(size))) continue;
    const auto is_outside = [&](int32_t beam) { return beam < 0 || beam >= size; };
    const int32_t* wrong = std::find_if(own + first, own + last, is_outside);
    throw std::invalid_argument("beams must be from 0 to " + std::to_string(size - 1) + ", got " +
                                std::to_string(*wrong) + " for token " +
                                std::to_string(wrong - own) + " of row " + std::to_string(row));
  }
}

}  // namespace keras_transformer
