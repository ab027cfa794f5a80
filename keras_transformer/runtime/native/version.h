// The version of the operators that graphs are exported for.
#pragma once

namespace keras_transformer {

// Raised whenever the operators would read earlier graphs wrongly or not at all: after a change of
// a name, input, output, attribute or layout of weights.
constexpr int kOperatorsVersion = 1;

}  // namespace keras_transformer
