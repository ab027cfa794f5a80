// The norms of queries and keys, of each head (Henry et al. 2020) or of all heads together.
#include <algorithm>
#include <string>
#include <vector>

#include "attention_operators.h"

namespace keras_transformer {

template <typename Kind>
void NormHeadsOperator<Kind>::compute(Context& context) const {
  const Shape shape = context.shape(0, "packed", 2);
  const int64_t rows = shape[0], columns = shape[1];
  const int64_t of_queries = heads_ * queries_.width(), of_keys = shared_ * keys_.width();
  if (of_queries + of_keys > columns) {
    throw std::invalid_argument("packed must hold " + std::to_string(of_queries) + " and " +
                                std::to_string(of_keys) + " numbers of queries and keys, got " +
                                std::to_string(columns));
  }
  const float* packed = context.input<float>(0);
  float* output = context.output<float>(0, {rows, columns});
  context.parallel_for(rows, 0.2 * columns, [&](int64_t first, int64_t last) {
    static thread_local std::vector<float> zeros;
    zeros.resize(std::max(of_queries, of_keys));
    for (int64_t row = first; row < last; ++row) {
      const float *from = packed + row * columns, *end = from + columns;
      float* to = output + row * columns;
      // A number of the sums is read before that of the norms takes its place.
      queries_.run(from, zeros.data(), heads_, to, to);
      from += of_queries, to += of_queries;
      keys_.run(from, zeros.data(), shared_, to, to);
      std::copy(from + of_keys, end, to + of_keys);
    }
  });
}

template class NormHeadsOperator<Norm>;
template class NormHeadsOperator<RmsNorm>;

}  // namespace keras_transformer
