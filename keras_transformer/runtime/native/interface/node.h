// What is known of an operator's node when a graph is loaded: attributes, and inputs that are stored
// in the graph.
#pragma once

#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "values.h"
#include "version.h"

namespace keras_transformer {

// Weights, read once when the graph is loaded: querying a shape at every run takes as long as the
// work of a small operator.
template <typename T>
struct Constant {
  const T* data = nullptr;
  Shape shape;
};

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

  // The same of an attribute that earlier graphs do not have.
  template <typename T>
  T attribute(const char* name, T otherwise) const {
    ort::Status* absent = api_.get_attribute(info_, (name + suffix_).c_str(), &otherwise);
    if (absent != nullptr) api_.release_status(absent);
    return otherwise;
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

}  // namespace keras_transformer
