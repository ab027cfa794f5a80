// What Python asks this library before onnxruntime opens a graph with its operators.
#include "instructions.h"

namespace keras_transformer {

// Raised whenever graphs that were exported before mean something else, or nothing, to the operators:
// another name, input, output, attribute or layout of weights.
constexpr int kOperatorsVersion = 1;

#ifdef KT_X86
namespace vnni {
constexpr const char* kName = "vnni";
}
namespace avx2 {
constexpr const char* kName = "avx2";
}
#endif
namespace portable {
constexpr const char* kName = "portable";
}

}  // namespace keras_transformer

#define KT_EXPORTED extern "C" __attribute__((visibility("default")))

KT_EXPORTED int keras_transformer_operators_version() {
  return keras_transformer::kOperatorsVersion;
}

// The set of instructions that the innermost loops use on this processor.
KT_EXPORTED const char* keras_transformer_instructions() {
  using namespace keras_transformer;
  return KT_FASTEST(kName);
}
