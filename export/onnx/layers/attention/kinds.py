"""Which operators can compute a Keras attention layer, and the names and widths that they share."""

from typing import Any

from keras_transformer.config.stack import AttentionConfig, BlockConfig
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.layers.attention import MultiHeadAttention

# The value of a masked score: far below any score, far above float32's lowest number.
MASKED = -1e9
# GroupQueryAttention requires a head's width to be a multiple of this.
_GROUPED_WIDTH = 8


# What all of them hold of attention; see `expressible`.
HOLDS: dict[type, set[str]] = {
    AttentionConfig: {
        "num_heads",
        "key_dim",
        "value_dim",
        "num_key_value_heads",
        "dropout",
        "use_bias",
        "output_bias",
        "scale",
        "soft_cap",
    },
    BlockConfig: {"own", "source", "dropout"},
}


def named(prefix: str, number: int) -> tuple[str, str]:
    """Returns the names of a block's keys and values among a graph's inputs and outputs."""
    return f"{prefix}_key_{number}", f"{prefix}_value_{number}"


def is_fused(config: Any) -> bool:
    """Whether fused operators support the head widths of a layer's or a model's config."""
    return config.key_dim == config.value_dim


def is_grouped(attention: MultiHeadAttention) -> bool:
    """Whether several heads of queries share one of keys and values."""
    return attention.config.num_key_value_heads != attention.config.num_heads


def _adds_scores(attention: MultiHeadAttention) -> bool:
    """Whether scores read distances or segments by queries or keys."""
    parts = attention.distances, attention.segments, attention.disentangled
    return any(one is not None for one in parts)


def fits_fused(attention: MultiHeadAttention) -> bool:
    """Whether the other fused operators can compute a layer, apart from shared heads."""
    fits = not _adds_scores(attention) and attention.config.soft_cap is None
    return fits and is_fused(attention.config)


def fits_group_query(attention: MultiHeadAttention) -> bool:
    """Whether GroupQueryAttention can compute a layer."""
    fits = not _adds_scores(attention) and attention.config.key_dim % _GROUPED_WIDTH == 0
    return fits and is_fused(attention.config)


def grouped_flags(attention: MultiHeadAttention) -> dict[str, Any]:
    """Returns the attributes of GroupQueryAttention, of queries that are already scaled."""
    config = attention.config
    heads = {"num_heads": config.num_heads, "kv_num_heads": config.num_key_value_heads}
    capped = {} if config.soft_cap is None else {"softcap": float(config.soft_cap)}
    return {**heads, "scale": 1.0, "domain": MICROSOFT, **capped}


def grouped_bias(bias: str | None) -> tuple[str | None, ...]:
    """Returns the last operands of GroupQueryAttention: none, or a bias for the scores."""
    return () if bias is None else (None, None, None, bias)


def head_widths(attention: MultiHeadAttention) -> list[int]:
    """Returns the widths of queries, keys and values, all heads together."""
    shared = attention.config.num_key_value_heads
    return [
        attention.config.num_heads * attention.config.key_dim,
        shared * attention.config.key_dim,
        shared * attention.config.value_dim,
    ]
