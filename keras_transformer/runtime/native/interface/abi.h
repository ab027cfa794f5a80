// The part of onnxruntime's C interface that custom operators need. The wheel of onnxruntime has no
// headers, but its binary interface is guaranteed to be stable: functions keep their places in the
// table for ever, and new ones are added at its end.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ort {

struct Status;
struct Value;
struct TensorInfo;
struct KernelInfo;
struct KernelContext;
struct CustomOpDomain;
struct SessionOptions;

// The oldest interface that has all of this: onnxruntime 1.17.
constexpr uint32_t kVersion = 17;

// An input declared as kAny takes every type: its operator checks which it got.
enum ElementType {
  kAny = 0, kFloat = 1, kUint8 = 2, kInt8 = 3, kInt32 = 6, kInt64 = 7, kBfloat16 = 16
};
enum Presence { kRequired = 0, kOptional = 1, kMany = 2 };
constexpr int kDefaultMemory = 0;
constexpr int kFailure = 1, kInvalidArgument = 2;

// The table of functions, each called by its place in it.
class Api {
 public:
  Status* create_status(int code, const char* message) const {
    return call<0, Status*>(code, message);
  }
  int get_error_code(const Status* status) const { return call<1, int>(status); }
  const char* get_error_message(const Status* status) const {
    return call<2, const char*>(status);
  }
  Status* create_custom_op_domain(const char* name, CustomOpDomain** domain) const {
    return call<26, Status*>(name, domain);
  }
  Status* custom_op_domain_add(CustomOpDomain* domain, const struct CustomOp* op) const {
    return call<27, Status*>(domain, op);
  }
  Status* add_custom_op_domain(SessionOptions* options, CustomOpDomain* domain) const {
    return call<28, Status*>(options, domain);
  }
  Status* get_tensor_data(Value* value, void** data) const {
    return call<51, Status*>(value, data);
  }
  Status* get_element_type(const TensorInfo* info, ElementType* type) const {
    return call<60, Status*>(info, type);
  }
  Status* get_dimensions_count(const TensorInfo* info, size_t* count) const {
    return call<61, Status*>(info, count);
  }
  Status* get_dimensions(const TensorInfo* info, int64_t* sizes, size_t count) const {
    return call<62, Status*>(info, sizes, count);
  }
  Status* get_tensor_info(const Value* value, TensorInfo** info) const {
    return call<65, Status*>(value, info);
  }
  Status* get_attribute(const KernelInfo* info, const char* name, float* value) const {
    return call<85, Status*>(info, name, value);
  }
  Status* get_attribute(const KernelInfo* info, const char* name, int64_t* value) const {
    return call<86, Status*>(info, name, value);
  }
  Status* get_attribute(const KernelInfo* info, const char* name, char* text, size_t* size) const {
    return call<87, Status*>(info, name, text, size);
  }
  Status* get_output_count(const KernelContext* context, size_t* count) const {
    return call<89, Status*>(context, count);
  }
  Status* get_input(const KernelContext* context, size_t place, const Value** value) const {
    return call<90, Status*>(context, place, value);
  }
  Status* get_output(KernelContext* context, size_t place, const int64_t* sizes, size_t count,
                     Value** value) const {
    return call<91, Status*>(context, place, sizes, count, value);
  }
  Status* get_constant_input(const KernelInfo* info, size_t place, int* is_constant,
                             const Value** value) const {
    return call<249, Status*>(info, place, is_constant, value);
  }
  void release_status(Status* status) const { call<93, void>(status); }
  void release_tensor_info(TensorInfo* info) const { call<99, void>(info); }
  Status* parallel_for(const KernelContext* context, void (*function)(void*, size_t), size_t total,
                       size_t num_batches, void* data) const {
    return call<274, Status*>(context, function, total, num_batches, data);
  }

 private:
  template <int place, typename Result, typename... Arguments>
  Result call(Arguments... arguments) const {
    return reinterpret_cast<Result (*)(Arguments...)>(functions_[place])(arguments...);
  }

  void* functions_[275];
};

struct ApiBase {
  const Api* (*get_api)(uint32_t version);
  const char* (*get_version_string)();
};

// The functions that onnxruntime calls to query and run an operator, up to interface `kVersion`.
struct CustomOp {
  uint32_t version;
  void* (*create_kernel)(const CustomOp*, const Api*, const KernelInfo*);
  const char* (*get_name)(const CustomOp*);
  const char* (*get_provider)(const CustomOp*);
  ElementType (*get_input_type)(const CustomOp*, size_t);
  size_t (*get_input_count)(const CustomOp*);
  ElementType (*get_output_type)(const CustomOp*, size_t);
  size_t (*get_output_count)(const CustomOp*);
  void (*compute)(void*, KernelContext*);
  void (*destroy_kernel)(void*);
  Presence (*get_input_presence)(const CustomOp*, size_t);
  Presence (*get_output_presence)(const CustomOp*, size_t);
  int (*get_input_memory)(const CustomOp*, size_t);
  int (*get_variadic_input_least)(const CustomOp*);
  int (*get_variadic_input_homogeneity)(const CustomOp*);
  int (*get_variadic_output_least)(const CustomOp*);
  int (*get_variadic_output_homogeneity)(const CustomOp*);
  Status* (*create_kernel_or_fail)(const CustomOp*, const Api*, const KernelInfo*, void**);
  Status* (*compute_or_fail)(void*, KernelContext*);
  Status* (*infer_shapes)(const CustomOp*, void*);
  int (*get_first_version)(const CustomOp*);
  int (*get_last_version)(const CustomOp*);
};

}  // namespace ort
