// The function that onnxruntime calls when a session registers this library.
#include "gelu.h"
#include "operators.h"

namespace keras_transformer {
namespace {

// Makes the domain with all operators. Sessions keep no copy, so it lives as long as the process.
template <typename... Kernels>
ort::CustomOpDomain* make_domain(const ort::Api& api) {
  ort::CustomOpDomain* domain = nullptr;
  check(api, api.create_custom_op_domain("keras_transformer", &domain));
  (check(api, api.custom_op_domain_add(domain, Operator<Kernels>::describe())), ...);
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
        make_domain<SelfAttention, CrossAttention, SequenceAttention, SplitHeads, TokenPositions,
                    AddNorm, AddSinusoid, BestToken, BestContinuations, BestContinuationsOfStates,
                    LargestPlace, ListedLogits, ListedByteLogits, LookUp, BytesLinear,
                    SelfAttentionSubLayer, CrossAttentionSubLayer, FeedForwardSubLayer,
                    QuantizeRows, ScaleSums, PackTokens, SequenceAttentionSubLayer, Bfloat16Linear,
                    Bfloat16LookUp, GeluOperator<ExactGelu>,
                    GeluOperator<TanhGelu>, GeluSubLayer<ExactGelu>, GeluSubLayer<TanhGelu>>(*api);
    return api->add_custom_op_domain(options, domain);
  } catch (const std::invalid_argument& error) {
    return api->create_status(ort::kInvalidArgument, error.what());
  } catch (const std::exception& error) {
    return api->create_status(ort::kFailure, error.what());
  }
}
