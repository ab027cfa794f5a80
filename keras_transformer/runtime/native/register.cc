// The function that onnxruntime calls when a session registers this library.
#include "decode_steps.h"
#include "kernels.h"

namespace keras_transformer {
namespace {

// Makes the domain with all operators. Sessions keep no copy, so it lives as long as the process.
template <typename... Parts, typename... Programs>
ort::CustomOpDomain* make_domain(const ort::Api& api, List<Parts...>, List<Programs...>) {
  ort::CustomOpDomain* domain = nullptr;
  check(api, api.create_custom_op_domain("keras_transformer", &domain));
  (check(api, api.custom_op_domain_add(domain, Operator<Parts>::describe())), ...);
  (check(api, api.custom_op_domain_add(domain, Operator<Programs>::describe())), ...);
  return domain;
}

}  // namespace
}  // namespace keras_transformer

extern "C" __attribute__((visibility("default"))) ort::Status* RegisterCustomOps(
    ort::SessionOptions* options, const ort::ApiBase* base) {
  using namespace keras_transformer;
  const ort::Api* api = base->get_api(ort::kVersion);
  // An onnxruntime that is too old reports it itself, and then knows none of the operators.
  if (api == nullptr) return nullptr;
  try {
    instructions();  // An unknown name in the environment is refused here, not within a thread.
    static ort::CustomOpDomain* const domain =
        make_domain(*api, Kernels(), List<GreedySteps, BeamSteps>());
    return api->add_custom_op_domain(options, domain);
  } catch (const std::invalid_argument& error) {
    return api->create_status(ort::kInvalidArgument, error.what());
  } catch (const std::exception& error) {
    return api->create_status(ort::kFailure, error.what());
  }
}
