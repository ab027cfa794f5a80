// The operators of the domain, each of which may be part of a program.
#pragma once

#include "attention_operators.h"
#include "activations.h"
#include "layer_operators.h"
#include "linear_operators.h"
#include "ranking_operators.h"

namespace keras_transformer {

template <typename... Kernels>
struct List {};

using Kernels =
    List<SelfAttention, CrossAttention, SequenceAttention, FillCache, PromptAttention, SplitHeads,
         TokenPositions, AddNormOperator<Norm>, AddNormOperator<RmsNorm>, AddSinusoid, BestToken,
         BestContinuations,
         BestContinuationsOfStates, BestContinuationsOfFloats, LargestPlace, ListedLogits,
         ListedByteLogits, LookUp, BytesLinear, SelfAttentionSubLayer, CrossAttentionSubLayer,
         FeedForwardSubLayer, QuantizeRows, ScaleSums, PackTokens, SequenceAttentionSubLayer,
         Bfloat16Linear, Bfloat16LookUp, Int4Linear, Int4LookUp, Float32Linear, Float32LookUp,
         NormRowsOperator<Norm>, NormRowsOperator<RmsNorm>, ListedIds, GeluOperator<ExactGelu>,
         GeluOperator<TanhGelu>, GeluSubLayer<ExactGelu>, GeluSubLayer<TanhGelu>,
         GateOperator<ExactGelu>, GateOperator<TanhGelu>, GateOperator<Silu>, Ssru, Rotary, Scaled,
         AddRows, NormHeadsOperator<Norm>, NormHeadsOperator<RmsNorm>, AppendRow, SoftCap>;

}  // namespace keras_transformer
