// The version of the operators, which graphs are exported for.
#pragma once

namespace keras_transformer {

// Raised whenever graphs that were exported before mean something else, or nothing, to the operators:
// another name, input, output, attribute or layout of weights.
constexpr int kOperatorsVersion = 1;

}  // namespace keras_transformer
