// The version and the revision of the operators that graphs are exported for.
#pragma once

namespace keras_transformer {

// Raised whenever the operators would read earlier graphs wrongly or not at all: after a change of
// a name, input, output, attribute or layout of weights.
constexpr int kOperatorsVersion = 1;

// Raised by whatever an earlier library of the same version would not read: a new operator, or one
// more input, attribute, shape or type of weights of an operator. A library reads all graphs of its
// version up to its own revision; of later graphs an artefact's reader keeps away by this number,
// where onnxruntime would only say that it does not know an operator.
constexpr int kOperatorsRevision = 10;

}  // namespace keras_transformer
