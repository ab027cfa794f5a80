// Makes an onnxruntime operator from a class with
//
//   static constexpr const char* kName;
//   static constexpr ort::ElementType kInputs[], kOutputs[];
//   static constexpr size_t kRequiredInputs;  // later ones may be left out
//   explicit Kernel(const Node&);
//   void compute(Context&) const;
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "abi.h"
#include "shape.h"
#include "version.h"

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

// Weights, read once when the graph is loaded: querying a shape at every run takes as long as the
// work of a small operator.
template <typename T>
struct Constant {
  const T* data = nullptr;
  Shape shape;
};

// What is known of a node before it runs.
class Node {
 public:
  Node(const ort::Api& api, const ort::KernelInfo* info) : api_(api), info_(info) {}

  // One of a node's operators, its number among them ending the names of its attributes: `places` are
  // those of its inputs among the node's.
  Node(const Node& whole, size_t number, const std::vector<size_t>& places)
      : api_(whole.api_),
        info_(whole.info_),
        suffix_("_" + std::to_string(number)),
        places_(&places) {}

  template <typename T>
  T attribute(const char* name) const {
    T value{};
    check(api_, api_.get_attribute(info_, (name + suffix_).c_str(), &value));
    return value;
  }

  std::string text(const char* name) const {
    size_t size = 0;
    ort::Status* too_short = api_.get_attribute(info_, name, nullptr, &size);
    if (too_short != nullptr) check(api_, too_short);
    std::string text(size, ' ');
    check(api_, api_.get_attribute(info_, name, text.data(), &size));
    return text.substr(0, text.find('\0'));
  }

  // Throws if the graph was exported for another version of the operators. Nodes name the version:
  // onnxruntime accepts graphs for later versions of a domain than the last that it knows.
  void check_version() const {
    int64_t version = 1;  // Graphs for the first one need not name it.
    ort::Status* absent = api_.get_attribute(info_, "operators_version", &version);
    if (absent != nullptr) api_.release_status(absent);
    if (version == kOperatorsVersion) return;
    throw std::invalid_argument("the graph was exported for version " + std::to_string(version) +
                                " of the operators of keras_transformer, and version " +
                                std::to_string(kOperatorsVersion) +
                                " is installed: export the model again, or install the version of "
                                "the package that wrote it");
  }

  // An attribute that counts something.
  int64_t count(const char* name) const { return check_positive(name, attribute<int64_t>(name)); }

  // The type of an input that is stored in the graph; kAny if none is.
  ort::ElementType type(size_t place) const {
    const ort::Value* value = stored(place);
    return value == nullptr ? ort::kAny : type_of(api_, value);
  }

  // An input that is stored in the graph; without data if it is left out.
  template <typename T>
  Constant<T> constant(size_t place) const {
    const ort::Value* value = stored(place);
    if (value == nullptr) return {nullptr, {}};
    return {data_of<T>(api_, value), shape_of(api_, value)};
  }

  template <typename T>
  Constant<T> constant(size_t place, const char* name, size_t axes) const {
    const Constant<T> found = constant<T>(place);
    if (found.data == nullptr) {
      throw std::invalid_argument(std::string(name) + " must be stored in the graph");
    }
    check_axes(name, found.shape, axes);
    return found;
  }

  template <typename T>
  const T* constant(size_t place, const char* name, std::initializer_list<int64_t> sizes) const {
    const Constant<T> found = constant<T>(place, name, sizes.size());
    check_shape(name, found.shape, sizes);
    return found.data;
  }

 private:
  const ort::Value* stored(size_t place) const {
    if (places_ != nullptr) {
      if (place >= places_->size()) return nullptr;
      place = (*places_)[place];
    }
    int is_constant = 0;
    const ort::Value* value = nullptr;
    check(api_, api_.get_constant_input(info_, place, &is_constant, &value));
    return is_constant ? value : nullptr;
  }

  const ort::Api& api_;
  const ort::KernelInfo* info_;
  std::string suffix_;
  const std::vector<size_t>* places_ = nullptr;
};

// The inputs and outputs of one run of an operator, of which onnxruntime holds the tensors.
class Context {
 public:
  Context(const ort::Api& api, ort::KernelContext* context) : api_(api), context_(context) {}
  virtual ~Context() = default;

  virtual bool has_input(size_t place) { return value_of(place) != nullptr; }

  template <typename T>
  const T* input(size_t place) {
    return static_cast<const T*>(data(place));
  }

  // An input of which each size is known.
  template <typename T>
  const T* input(size_t place, const char* name, std::initializer_list<int64_t> sizes) {
    check_shape(name, shape(place), sizes);
    return input<T>(place);
  }

  virtual Shape shape(size_t place) { return shape_of(api_, required(place)); }
  Shape shape(size_t place, const char* name, size_t axes) {
    return check_axes(name, shape(place), axes);
  }

  ort::ElementType type(size_t place) { return type_of(api_, required(place)); }

  virtual size_t output_count() {
    size_t count = 0;
    check(api_, api_.get_output_count(context_, &count));
    return count;
  }

  template <typename T>
  T* output(size_t place, std::initializer_list<int64_t> sizes) {
    Shape shape{sizes.size()};
    std::copy(sizes.begin(), sizes.end(), shape.sizes.begin());
    return static_cast<T*>(make(place, shape));
  }

  // An input's numbers, and those of an output that gets this shape.
  virtual void* data(size_t place) { return data_of<void>(api_, required(place)); }
  virtual void* make(size_t place, const Shape& shape) {
    ort::Value* value = nullptr;
    check(api_, api_.get_output(context_, place, shape.sizes.data(), shape.axes, &value));
    if (value == nullptr) {
      throw std::invalid_argument("output " + std::to_string(place) + " must not be left out");
    }
    return data_of<void>(api_, value);
  }

  // Calls `work(first, last)` for ranges that together are 0 to `total`, on all of onnxruntime's
  // threads if there is enough work; `each` is about what one of `total` costs in nanoseconds.
  // What `work` throws is rethrown here, once all threads are done: in a thread of onnxruntime's it
  // would end the process.
  template <typename Work>
  void parallel_for(int64_t total, double each, const Work& work) {
    const int64_t parts = std::min<int64_t>(total, static_cast<int64_t>(total * each / kLeastPart));
    if (parts <= 1) return work(0, total);
    struct Job {
      const ort::Api& api;
      const Work& work;
      int64_t total, parts;
      std::atomic<ort::Status*> first_error{nullptr};
    } job{api_, work, total, parts};
    check(api_, api_.parallel_for(
                    context_,
                    [](void* data, size_t part) {
                      Job& job = *static_cast<Job*>(data);
                      const int64_t place = static_cast<int64_t>(part);
                      ort::Status* error = guarded(job.api, [&] {
                        job.work(job.total * place / job.parts,
                                 job.total * (place + 1) / job.parts);
                      });
                      ort::Status* none = nullptr;
                      if (error == nullptr || job.first_error.compare_exchange_strong(none, error)) {
                        return;
                      }
                      job.api.release_status(error);
                    },
                    static_cast<size_t>(parts), 0, &job));
    check(api_, job.first_error);
  }

 private:
  // Nanoseconds of work that are worth waking a thread for.
  static constexpr double kLeastPart = 10000;

  const ort::Value* value_of(size_t place) {
    const ort::Value* value = nullptr;
    check(api_, api_.get_input(context_, place, &value));
    return value;
  }

  const ort::Value* required(size_t place) {
    const ort::Value* value = value_of(place);
    if (value != nullptr) return value;
    throw std::invalid_argument("input " + std::to_string(place) + " must not be left out");
  }

  const ort::Api& api_;
  ort::KernelContext* context_;
};

// Whether the last entry of `kOutputs` stands for any number of outputs, or that of `kInputs` for any
// number of inputs of any types.
template <typename Kernel>
inline constexpr bool kManyOutputs = false;
template <typename Kernel>
inline constexpr bool kManyInputs = false;

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
          if (kManyInputs<Kernel> && place + 1 == std::size(Kernel::kInputs)) return ort::kMany;
          return place < Kernel::kRequiredInputs ? ort::kRequired : ort::kOptional;
        },
        [](const ort::CustomOp*, size_t place) {
          const bool is_last = place + 1 == std::size(Kernel::kOutputs);
          return kManyOutputs<Kernel> && is_last ? ort::kMany : ort::kRequired;
        },
        [](const ort::CustomOp*, size_t) { return ort::kDefaultMemory; },
        [](const ort::CustomOp*) { return 1; },
        [](const ort::CustomOp*) { return kManyInputs<Kernel> ? 0 : 1; },
        [](const ort::CustomOp*) { return 1; },
        [](const ort::CustomOp*) { return 1; },
        create,
        compute,
        nullptr,
        [](const ort::CustomOp*) { return 1; },
        [](const ort::CustomOp*) { return kOperatorsVersion; },
    };
    return &description;
  }

 private:
  struct Instance {
    const ort::Api& api;
    Kernel kernel;
  };

  static ort::Status* create(const ort::CustomOp*, const ort::Api* api, const ort::KernelInfo* info,
                             void** kernel) {
    return guarded(*api, [&] {
      const Node node(*api, info);
      node.check_version();
      *kernel = new Instance{*api, Kernel(node)};
    });
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
