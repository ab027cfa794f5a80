// The version of the operators that graphs are exported for.
#pragma once

namespace keras_transformer {

// Raised whenever the operators would read earlier graphs wrongly or not at all: after a change of
// a name, input, output, attribute or layout of weights. A new operator, or one more type of an
// operator's weights, changes nothing for earlier graphs and raises it not: a library without it
// does not load a graph that has it, and onnxruntime names what is missing.
constexpr int kOperatorsVersion = 1;

}  // namespace keras_transformer
