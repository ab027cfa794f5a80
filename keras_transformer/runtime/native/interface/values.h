// Reads onnxruntime's values, and carries errors to it and from it.
#pragma once

#include <algorithm>
#include <exception>
#include <stdexcept>

#include "abi.h"
#include "shape.h"

namespace keras_transformer {

// An error that onnxruntime returned to one of our calls, with its code.
class OrtError : public std::runtime_error {
 public:
  OrtError(int code, const char* message) : std::runtime_error(message), code(code) {}
  const int code;
};

inline void check(const ort::Api& api, ort::Status* status) {
  if (status == nullptr) return;
  const OrtError error(api.get_error_code(status), api.get_error_message(status));
  api.release_status(status);
  throw error;
}

// Exceptions must cross neither onnxruntime's interface nor its threads: they are converted to
// statuses.
template <typename Work>
ort::Status* guarded(const ort::Api& api, const Work& work) {
  try {
    work();
    return nullptr;
  } catch (const OrtError& error) {
    return api.create_status(error.code, error.what());
  } catch (const std::invalid_argument& error) {
    return api.create_status(ort::kInvalidArgument, error.what());
  } catch (const std::exception& error) {
    return api.create_status(ort::kFailure, error.what());
  }
}

inline Shape shape_of(const ort::Api& api, const ort::Value* value) {
  ort::TensorInfo* info = nullptr;
  check(api, api.get_tensor_info(value, &info));
  Shape shape;
  ort::Status* status = api.get_dimensions_count(info, &shape.axes);
  if (status == nullptr) {
    status = api.get_dimensions(info, shape.sizes.data(), std::min(shape.axes, kMostAxes));
  }
  api.release_tensor_info(info);
  check(api, status);
  return shape;
}

inline ort::ElementType type_of(const ort::Api& api, const ort::Value* value) {
  ort::TensorInfo* info = nullptr;
  check(api, api.get_tensor_info(value, &info));
  ort::ElementType type = ort::kAny;
  ort::Status* status = api.get_element_type(info, &type);
  api.release_tensor_info(info);
  check(api, status);
  return type;
}

template <typename T>
T* data_of(const ort::Api& api, const ort::Value* value) {
  void* data = nullptr;
  check(api, api.get_tensor_data(const_cast<ort::Value*>(value), &data));
  return static_cast<T*>(data);
}

}  // namespace keras_transformer
