// What an operator gets when it runs: inputs, outputs and threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <initializer_list>
#include <stdexcept>
#include <string>

#include "values.h"

namespace keras_transformer {

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
    if (total == 0) return;
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

}  // namespace keras_transformer
