"""Fills CTranslate2's specifications of blocks with the weights of ours."""

from typing import Any

import numpy as np

# The longest text: CTranslate2 looks sinusoids up in a table.
MOST_POSITIONS = 1024


def as_array(values: Any) -> np.ndarray:
    """Returns weights as CTranslate2 takes them: float32, contiguous."""
    return np.ascontiguousarray(values, np.float32)


def fill_embeddings(spec: Any, embeddings: Any, config: Any) -> None:
    """Fills what a stack's specification says of its input."""
    spec.scale_embeddings = config.scale_embeddings
    tokens, *types = spec.embeddings if isinstance(spec.embeddings, list) else [spec.embeddings]
    tokens.weight = as_array(embeddings.tokens.matrix)
    for one in types:
        one.weight = as_array(embeddings.token_types.matrix)
    if embeddings.positions is not None:
        places = np.arange(config.max_positions or MOST_POSITIONS, dtype=np.int32)
        spec.position_encodings.encodings = as_array(embeddings.positions.vectors(places))
    if embeddings.layer_norm is not None:
        fill_norm(spec.layernorm_embedding, embeddings.layer_norm)


def fill_stack(spec: Any, stack: Any) -> None:
    """Fills the specifications of all blocks, and of the norm behind them."""
    for layer, block in zip(spec.layer, stack.blocks, strict=True):
        for part in block.sub_layers:
            if part.attends_to is None:
                _fill_feed_forward(layer.ffn, part.layer)
                fill_norm(layer.ffn.layer_norm, part.residual.layer_norm)
                continue
            attention = layer.self_attention if part.attends_to == "own" else layer.attention
            _fill_attention(attention, part.layer, own=part.attends_to == "own")
            fill_norm(attention.layer_norm, part.residual.layer_norm)
        if stack.relative is not None:
            own = layer.self_attention
            own.relative_attention_bias = as_array(stack.relative.matrix)
            own.relative_attention_max_distance = np.int32(stack.relative.max_distance)
    if stack.final_norm is not None:
        fill_norm(spec.layer_norm, stack.final_norm)


def fill_norm(spec: Any, norm: Any) -> None:
    """Fills a norm; an RMSNorm has no β."""
    spec.gamma = as_array(norm.gamma)
    if hasattr(norm, "beta"):
        spec.beta = as_array(norm.beta)


def fill_head(spec: Any, head: Any) -> None:
    """Fills the projection onto the vocabulary."""
    matrix = head.tokens.matrix if head.linear is None else np.asarray(head.linear.kernel).T
    spec.weight = as_array(matrix)
    if head.bias is not None:
        spec.bias = as_array(head.bias)


def fill_linear(spec: Any, *linears: Any) -> None:
    """Fills a linear layer; several that read the same input become one, side by side."""
    spec.weight = np.concatenate([as_array(linear.kernel).T for linear in linears])
    if linears[0].use_bias:
        spec.bias = np.concatenate([as_array(linear.bias) for linear in linears])


def _fill_attention(spec: Any, attention: Any, *, own: bool) -> None:
    query, key, value, output = attention.linear_layers
    if not attention.config.scale:
        spec.queries_scale = 1.0
    inputs = [(query, key, value)] if own else [(query,), (key, value)]
    for place, linears in enumerate([*inputs, (output,)]):
        fill_linear(spec.linear[place], *linears)


def _fill_feed_forward(spec: Any, layer: Any) -> None:
    fill_linear(spec.linear_0, layer.hidden)
    if layer.gate is not None:
        fill_linear(spec.linear_0_noact, layer.gate)
    fill_linear(spec.linear_1, layer.output_linear)
