// Chooses the kind of a linear layer.
#include "linear_layer.h"

#include <stdexcept>
#include <string>

#include "bfloat16_layer.h"
#include "bytes_layer.h"
#include "float32_layer.h"
#include "int4_layer.h"

namespace keras_transformer {

std::unique_ptr<const LinearLayer> LinearLayer::read(const Node& node, size_t place) {
  const ort::ElementType type = node.type(place);
  if (type == ort::kBfloat16) return std::make_unique<Bfloat16Layer>(node, place);
  if (type == ort::kFloat) return std::make_unique<Float32Layer>(node, place);
  if (type == ort::kUint8) return std::make_unique<Int4Layer>(node, place);
  // What is not stored has no type, and `BytesLayer` refuses it.
  if (type == ort::kInt8 || type == ort::kAny) return std::make_unique<BytesLayer>(node, place);
  throw std::invalid_argument("weights must be int8, 4 bits in uint8, bfloat16 or float32, got the element type " +
                              std::to_string(type));
}

}  // namespace keras_transformer
