// Makes an onnxruntime operator of a class with
//
//   static constexpr const char* kName;
//   static constexpr ort::ElementType kInputs[], kOutputs[];
//   static constexpr size_t kRequiredInputs;  // those behind them may be left out
//   explicit Kernel(const Node&);
//   void compute(Context&) const;
#pragma once

#include <algorithm>
#include <array>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>

#include "abi.h"

namespace keras_transformer {

inline void check(const ort::Api& api, ort::Status* status) {
  if (status == nullptr) return;
  api.release_status(status);
  throw std::runtime_error("onnxruntime refused a call of a keras_transformer operator");
}

constexpr size_t kMostAxes = 4;
using Shape = std::array<int64_t, kMostAxes>;

inline Shape shape_of(const ort::Api& api, const ort::Value* value) {
  ort::TensorInfo* info = nullptr;
  check(api, api.get_tensor_info(value, &info));
  size_t axes = 0;
  Shape sizes{};
  ort::Status* status = api.get_dimensions_count(info, &axes);
  if (status == nullptr) {
    status = api.get_dimensions(info, sizes.data(), std::min(axes, kMostAxes));
  }
  api.release_tensor_info(info);
  check(api, status);
  return sizes;
}

template <typename T>
T* data_of(const ort::Api& api, const ort::Value* value) {
  void* data = nullptr;
  check(api, api.get_tensor_data(const_cast<ort::Value*>(value), &data));
  return static_cast<T*>(data);
}

inline void check_shape(const char* name, const Shape& found,
                        std::initializer_list<int64_t> sizes) {
  if (std::equal(sizes.begin(), sizes.end(), found.begin())) return;
  std::string message = std::string(name) + " must have the shape (";
  for (const int64_t size : sizes) message += std::to_string(size) + ", ";
  message += "), got (";
  for (size_t axis = 0; axis < sizes.size(); ++axis) message += std::to_string(found[axis]) + ", ";
  throw std::invalid_argument(message + ")");
}

// Weights, read once when the graph is loaded: asking for a shape at every run takes as long as a
// small operator's work.
template <typename T>
struct Constant {
  const T* data;
  Shape shape;
};

// What is known of a node before it runs.
class Node {
 public:
  Node(const ort::Api& api, const ort::KernelInfo* info) : api_(api), info_(info) {}

  template <typename T>
  T attribute(const char* name) const {
    T value{};
    check(api_, api_.get_attribute(info_, name, &value));
    return value;
  }

  // An input that is stored in the graph; without data where it is left out.
  template <typename T>
  Constant<T> constant(size_t place) const {
    int is_constant = 0;
    const ort::Value* value = nullptr;
    check(api_, api_.get_constant_input(info_, place, &is_constant, &value));
    if (!is_constant || value == nullptr) return {nullptr, {}};
    return {data_of<T>(api_, value), shape_of(api_, value)};
  }

  template <typename T>
  Constant<T> constant(size_t place, const char* name) const {
    const Constant<T> found = constant<T>(place);
    if (found.data == nullptr) {
      throw std::invalid_argument(std::string(name) + " must be stored in the graph");
    }
    return found;
  }

  template <typename T>
  const T* constant(size_t place, const char* name, std::initializer_list<int64_t> sizes) const {
    const Constant<T> found = constant<T>(place, name);
    check_shape(name, found.shape, sizes);
    return found.data;
  }

 private:
  const ort::Api& api_;
  const ort::KernelInfo* info_;
};

// The inputs and outputs of one run of an operator.
class Context {
 public:
  Context(const ort::Api& api, ort::KernelContext* context) : api_(api), context_(context) {}

  // An input's values; null where it is left out.
  template <typename T>
  const T* input(size_t place) {
    const ort::Value* value = value_of(place);
    return value == nullptr ? nullptr : data_of<T>(api_, value);
  }

  // An input of which each size is known.
  template <typename T>
  const T* input(size_t place, const char* name, std::initializer_list<int64_t> sizes) {
    const ort::Value* value = value_of(place);
    check_shape(name, shape_of(api_, value), sizes);
    return data_of<T>(api_, value);
  }

  Shape shape(size_t place) { return shape_of(api_, value_of(place)); }

  template <typename T>
  T* output(size_t place, std::initializer_list<int64_t> sizes) {
    ort::Value* value = nullptr;
    check(api_, api_.get_output(context_, place, sizes.begin(), sizes.size(), &value));
    return data_of<T>(api_, value);
  }

  // Calls `work(first, last)` for ranges that together are 0 to `total`, on all of onnxruntime's
  // threads where there is enough to do; `each` is about what one of `total` costs in nanoseconds.
  template <typename Work>
  void parallel_for(int64_t total, double each, const Work& work) {
    const int64_t parts = std::min<int64_t>(total, static_cast<int64_t>(total * each / kLeastPart));
    if (parts <= 1) return work(0, total);
    struct Job {
      const Work& work;
      int64_t total, parts;
    } job{work, total, parts};
    check(api_, api_.parallel_for(
                    context_,
                    [](void* data, size_t part) {
                      const Job& job = *static_cast<Job*>(data);
                      const int64_t place = static_cast<int64_t>(part);
                      job.work(job.total * place / job.parts, job.total * (place + 1) / job.parts);
                    },
                    static_cast<size_t>(parts), 0, &job));
  }

 private:
  // Nanoseconds of work that are worth a thread's waking.
  static constexpr double kLeastPart = 10000;

  const ort::Value* value_of(size_t place) {
    const ort::Value* value = nullptr;
    check(api_, api_.get_input(context_, place, &value));
    return value;
  }

  const ort::Api& api_;
  ort::KernelContext* context_;
};

// Whether what `kOutputs` has once stands for any number of outputs.
template <typename Kernel>
inline constexpr bool kManyOutputs = false;

template <typename Kernel>
class Operator {
 public:
  static const ort::CustomOp* describe() {
    static const ort::CustomOp description = {
        ort::kVersion,
        nullptr,
        [](const ort::CustomOp*) { return Kernel::kName; },
        [](const ort::CustomOp*) -> const char* { return nullptr; },
        [](const ort::CustomOp*, size_t place) { return Kernel::kInputs[place]; },
        [](const ort::CustomOp*) { return std::size(Kernel::kInputs); },
        [](const ort::CustomOp*, size_t place) { return Kernel::kOutputs[place]; },
        [](const ort::CustomOp*) { return std::size(Kernel::kOutputs); },
        nullptr,
        [](void* kernel) { delete static_cast<Instance*>(kernel); },
        [](const ort::CustomOp*, size_t place) {
          return place < Kernel::kRequiredInputs ? ort::kRequired : ort::kOptional;
        },
        [](const ort::CustomOp*, size_t) {
          return kManyOutputs<Kernel> ? ort::kMany : ort::kRequired;
        },
        [](const ort::CustomOp*, size_t) { return ort::kDefaultMemory; },
        [](const ort::CustomOp*) { return 1; },
        [](const ort::CustomOp*) { return 1; },
        [](const ort::CustomOp*) { return 1; },
        [](const ort::CustomOp*) { return 1; },
        create,
        compute,
        nullptr,
        [](const ort::CustomOp*) { return 1; },
        [](const ort::CustomOp*) { return kAnyVersion; },
    };
    return &description;
  }

 private:
  static constexpr int kAnyVersion = 0x7fffffff;

  struct Instance {
    const ort::Api& api;
    Kernel kernel;
  };

  // Exceptions must not cross onnxruntime's interface: they become its statuses.
  template <typename Work>
  static ort::Status* guarded(const ort::Api& api, const Work& work) {
    try {
      work();
      return nullptr;
    } catch (const std::exception& error) {
      return api.create_status(ort::kFailure, error.what());
    }
  }

  static ort::Status* create(const ort::CustomOp*, const ort::Api* api, const ort::KernelInfo* info,
                             void** kernel) {
    return guarded(*api, [&] { *kernel = new Instance{*api, Kernel(Node(*api, info))}; });
  }

  static ort::Status* compute(void* kernel, ort::KernelContext* context) {
    const Instance& instance = *static_cast<Instance*>(kernel);
    return guarded(instance.api, [&] {
      Context given(instance.api, context);
      instance.kernel.compute(given);
    });
  }
};

}  // namespace keras_transformer
