// The functions that Python calls before onnxruntime opens a graph with these operators.
#include "version.h"

#include <stdexcept>
#include <string>

#include "instructions.h"

#define KT_EXPORTED extern "C" __attribute__((visibility("default")))

KT_EXPORTED int keras_transformer_operators_version() {
  return keras_transformer::kOperatorsVersion;
}

KT_EXPORTED int keras_transformer_operators_revision() {
  return keras_transformer::kOperatorsRevision;
}

// An error message if the environment asks for an unknown set of instructions, or null.
KT_EXPORTED const char* keras_transformer_refusal() {
  try {
    keras_transformer::instructions();
    return nullptr;
  } catch (const std::invalid_argument& error) {
    static const std::string message = error.what();
    return message.c_str();
  }
}

// The set of instructions that loops use in this process; call it only if nothing is refused.
KT_EXPORTED const char* keras_transformer_instructions() {
  return keras_transformer::name_of(keras_transformer::instructions());
}
