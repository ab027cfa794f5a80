// Makes an onnxruntime operator from a class with
//
//   static constexpr const char* kName;
//   static constexpr ort::ElementType kInputs[], kOutputs[];
//   static constexpr size_t kRequiredInputs;  // later ones may be left out
//   explicit Kernel(const Node&);
//   void compute(Context&) const;
#pragma once

#include <iterator>

#include "context.h"
#include "node.h"

namespace keras_transformer {

// Whether the last entry of `kOutputs` stands for any number of outputs, or that of `kInputs` for any
// number of inputs of any types.
template <typename Kernel>
inline constexpr bool kManyOutputs = false;
template <typename Kernel>
inline constexpr bool kManyInputs = false;

// Whether an output may be in the memory of the input that it replaces: caches are.
template <typename Kernel>
inline constexpr bool kUpdatesInPlace = false;

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
