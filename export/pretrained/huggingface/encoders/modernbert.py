"""The export of ModernBERTs."""

from dataclasses import replace
from typing import Any

import numpy as np

from keras_transformer.config.stack import BlockConfig
from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import (
    THEIR_ACTIVATIONS,
    Architecture,
)
from keras_transformer.export.pretrained.huggingface.encoders.common import (
    ENDINGS,
    FREE,
    LATER_HEADS,
    check_files,
    labels_of,
    save_without_types,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.decoders.rope import rope_parameters
from keras_transformer.pretrained.huggingface.encoders.modernbert import (
    FULL,
    SLIDING,
    modernbert_table,
)
from keras_transformer.pretrained.sentence_transformers import DENSE
from keras_transformer.pretrained.weight_table import Array, dump_weights

_NAME = "ModernBertModel"
# Biases that a file may lack, and the field that then says so.
_BIASES = {"norm_bias": "norm.bias", "classifier_bias": "head.dense.bias"}


def _kind(block: BlockConfig) -> str:
    return FULL if _own(block).window is None else SLIDING


def _own(block: BlockConfig) -> Any:
    return block.own


def _check(outgoing: Outgoing) -> None:
    kinds: dict[str, BlockConfig] = {}
    for block in outgoing.config.stack.blocks:
        first = kinds.setdefault(_kind(block), block)
        if block != first or _own(block).rotary is None:
            raise ValueError(
                f"{_NAME} has blocks of the whole text and blocks with a window, alike among "
                f"themselves and with rotary positions, got block_pattern="
                f"{outgoing.config.block_pattern}."
            )
    alike = {
        replace(block, own=replace(_own(block), window=None, rotary=None))
        for block in kinds.values()
    }
    if len(alike) > 1:
        raise ValueError(
            f"{_NAME} has blocks that differ by windows and rotary positions alone, got "
            f"block_pattern={outgoing.config.block_pattern}."
        )


def _fields(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    layers = config.stack.layers
    windows = [_own(block).window for block in layers if _own(block).window is not None]
    ropes = {_kind(block): rope_parameters(_own(block).rotary, config.key_dim) for block in layers}
    ids = {"cls_token_id": config.special_ids.bos, "sep_token_id": config.special_ids.eos}
    written = _tensors(outgoing)
    activation = THEIR_ACTIVATIONS[config.activation]
    return {
        "model_type": "modernbert",
        "architectures": [f"ModernBert{ENDINGS[config.head]}"],
        **ids,
        "vocab_size": config.vocab_size,
        "hidden_size": config.model_dim,
        "intermediate_size": config.feed_forward_dim,
        "num_attention_heads": config.num_heads,
        "num_hidden_layers": config.num_layers,
        "hidden_activation": activation,
        "classifier_activation": activation,
        "classifier_pooling": "mean" if config.text_state == "mean" else "cls",
        "max_position_embeddings": config.max_row_length or 8192,
        "attention_bias": config.use_bias and config.attention_bias,
        "mlp_bias": config.use_bias and config.feed_forward_bias,
        **{name: any(one.endswith(end) for one in written) for name, end in _BIASES.items()},
        "norm_eps": config.layer_norm_epsilon,
        "embedding_dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "mlp_dropout": config.activation_dropout,
        "layer_types": [_kind(block) for block in layers],
        "local_attention": 2 * (windows[0] - 1) if windows else 128,
        "rope_parameters": {FULL: None, SLIDING: None, **ropes},
        **labels_of(config),
    }


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    beginnings: Any = [] if outgoing.config.head in (None, "embedding") else ["model."]
    found = dump_weights(modernbert_table(outgoing.model, beginnings))
    for ending in _BIASES.values():
        names = [name for name in found if name.endswith(ending)]
        if not any(np.any(found[name]) for name in names):
            found = {name: one for name, one in found.items() if name not in names}
    # Those of linear layers behind the pooling have files of their own.
    return {name: one for name, one in found.items() if not name.startswith(f"{DENSE}.")}


MODERNBERT = Architecture(
    ModelForm(
        _NAME,
        {
            **FREE,
            "layer_norm_epsilon": None,
            "max_positions": (None,),
            "positions": ("none",),
            "norm": ("pre",),
            "first_norm": (False,),
            "gated_feed_forward": (True,),
            "use_bias": None,
            "attention_bias": None,
            "feed_forward_bias": None,
            "block_pattern": None,
            "num_token_types": (0,),
            "pooler": (False,),
            "text_state": None,
            "head_transform": (True,),
            "head": LATER_HEADS,
        },
    ),
    _fields,
    _tensors,
    save_without_types,
    _check,
    check_files,
)
