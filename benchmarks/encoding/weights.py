"""The weights of a Keras encoder in BERT's form as named arrays, from which the other engines'
models are made.
"""

from typing import Any

import numpy as np

from keras_transformer.models.encoder_only import EncoderOnly

FILE = "weights.npz"


def named_weights(model: EncoderOnly) -> dict[str, np.ndarray]:
    """Returns the weights of embeddings and blocks.

    Names are "tokens", "positions", "token_types", "norm.gamma" and "norm.beta", and for block i
    "i.query.kernel" `(model_dim, heads * width)`, "i.query.bias" and likewise "key", "value",
    "output", "hidden", "transformed", and "i.attention_norm" and "i.feed_forward_norm" with
    ".gamma" and ".beta".

    Raises:
        ValueError: The model is not in BERT's form.
    """
    _check(model)
    embeddings: Any = model.embeddings
    found = {
        "tokens": embeddings.tokens.matrix,
        "positions": embeddings.positions.matrix,
        "token_types": embeddings.token_types.matrix,
        **_norm("norm", embeddings.layer_norm),
    }
    for number, block in enumerate(model.encoder_stack.blocks):
        attention, feed_forward = block.attention, block.feed_forward
        linears = {
            "query": attention.query_linear,
            "key": attention.key_linear,
            "value": attention.value_linear,
            "output": attention.output_linear,
            "hidden": feed_forward.hidden,
            "transformed": feed_forward.output_linear,
        }
        for name, linear in linears.items():
            found[f"{number}.{name}.kernel"] = linear.kernel
            found[f"{number}.{name}.bias"] = linear.bias
        found.update(_norm(f"{number}.attention_norm", block.attention_residual.layer_norm))
        found.update(_norm(f"{number}.feed_forward_norm", block.feed_forward_residual.layer_norm))
    return {name: np.asarray(values, np.float32) for name, values in found.items()}


def _norm(name: str, norm: Any) -> dict[str, Any]:
    return {f"{name}.gamma": norm.gamma, f"{name}.beta": norm.beta}


def _check(model: EncoderOnly) -> None:
    config = model.config
    wanted = {
        "norm": "post",
        "norm_kind": "layer_norm",
        "activation": "gelu",
        "positions": "learned",
        "embedding_norm": True,
        "gated_feed_forward": False,
        "use_bias": True,
        "scale_attention": True,
        "rotary_base": None,
        "relative_buckets": None,
        "position_offset": 0,
        "scale_embeddings": False,
    }
    for name, value in wanted.items():
        if getattr(config, name) != value:
            found = getattr(config, name)
            raise ValueError(f"{name} must be {value!r} in BERT's form, got {found!r}.")
    if not config.num_token_types or config.key_value_heads != config.num_heads:
        raise ValueError("BERT's form has token types, and as many heads of keys as of queries.")
