"""T5 (Raffel et al. 2020) and its kin: T5 1.1 and Flan-T5 with gates, mT5 with them too, and UMT5
(Chung et al. 2023), whose blocks each have a relative bias of their own; MADLAD-400 (Kudugunta et
al. 2023) is a T5 1.1 with tags of languages, and LongT5 (Guo et al. 2022) one whose encoder reads
no more than a window around each place.

T5 multiplies the states in front of a tied head by 1/√d; here the decoder's last norm does it.
"""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config import TransformerConfig
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import ACTIVATIONS, Fields
from keras_transformer.pretrained.huggingface.vocabularies import t5_vocabularies
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.tensor_files import Tensors, open_huggingface
from keras_transformer.pretrained.weight_table import Entry, linear, norm

# The same matrix again.
_UNREAD = ("embed_tokens.weight",)
# A bias of attention between the stacks, which has none: T5's published files hold it.
_UNUSED = ("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight",)


def read_t5(path: Path, values: dict[str, Any], tensors: Tensors | None = None) -> Imported:
    """Reads a directory, or of other tensors only what lies beside them.

    Raises:
        ImportRefusedError: A file is missing or damaged, or the config has a value that is not
            supported.
    """
    fields = Fields(path / "config.json", values)
    vocabularies = t5_vocabularies(path, fields)
    tensors = open_huggingface(path) if tensors is None else tensors
    is_tied = _is_tied(tensors)
    # mT5 never scales; T5 1.1 has a head of its own, and says so by not tying it.
    is_t5 = values["model_type"] != "mt5"
    tied_by_config = fields.get("tie_word_embeddings", True)
    scales_head = is_t5 and fields.flag("scale_decoder_outputs", tied_by_config)
    default = "relu" if values["model_type"] in ("t5", "longt5") else "gated-gelu"
    kind = fields.text("feed_forward_proj", default)
    is_gated = kind.startswith("gated-")
    name = kind.removeprefix("gated-")
    # "gated-gelu" has always meant the tanh form.
    activation = "gelu_tanh" if kind == "gated-gelu" else ACTIVATIONS.get(name)
    if activation is None:
        raise ImportRefusedError(f"{fields.path} has feed_forward_proj: {kind!r}, not supported.")
    is_local = values["model_type"] == "longt5"
    own = "LocalSelfAttention" if is_local else "SelfAttention"
    layers = fields.integer("num_layers")
    width = fields.integer("d_model")
    config = TransformerConfig(
        source_vocab_size=fields.vocab_size(),
        share_embeddings="all" if is_tied else "none",
        model_dim=width,
        feed_forward_dim=fields.integer("d_ff"),
        num_heads=fields.integer("num_heads"),
        key_dim=fields.integer("d_kv"),
        value_dim=fields.integer("d_kv"),
        num_encoder_layers=layers,
        num_decoder_layers=fields.integer("num_decoder_layers", layers),
        encoder_pattern=({"window": _window(fields)},) if is_local else (),
        dropout=fields.number("dropout_rate", 0.1),
        activation=activation,
        gated_feed_forward=is_gated,
        norm="pre",
        norm_kind="rms_norm",
        layer_norm_epsilon=fields.number("layer_norm_epsilon", 1e-6),
        use_bias=False,
        scale_attention=False,
        positions="none",
        scale_embeddings=False,
        relative_buckets=fields.integer("relative_attention_num_buckets", 32),
        relative_per_block=values["model_type"] == "umt5",
        relative_max_distance=fields.integer("relative_attention_max_distance", 128),
        special_ids=vocabularies.special_ids,
        marks=vocabularies.marks,
    )
    return Imported(
        values["model_type"],
        config,
        lambda model: list(t5_table(model, tensors, width**-0.5 if scales_head else 1.0, own)),
        tensors,
        vocabularies.tokenizers,
        unread=(*_UNREAD, "lm_head.weight") if is_tied else _UNREAD,
        unused=_UNUSED,
        search=vocabularies.search,
    )


def _is_tied(tensors: Tensors) -> bool:
    """Whether the head is the matrix of the embeddings, whatever the config says."""
    if "lm_head.weight" not in tensors or "shared.weight" not in tensors:
        return True
    return np.array_equal(tensors["lm_head.weight"], tensors["shared.weight"])


def _window(fields: Fields) -> int:
    """Returns the window of a LongT5's encoder.

    Raises:
        ImportRefusedError: It reads summaries of the rest of the text, too, which ours does not.
    """
    fields.require(encoder_attention_type="local")
    return fields.integer("local_radius", 127, least=0) + 1


def t5_table(
    model: Any, tensors: Collection[str], factor: float, encoder_own: str = "SelfAttention"
) -> Iterator[Entry]:
    """Yields the entries of a model.

    Args:
        model: Ours.
        tensors: The names that a file has; those that Hugging Face writes if empty.
        factor: What the file's model multiplies the states by in front of the head.
        encoder_own: What the file calls the encoder's attention.
    """
    names = ("shared.weight", "lm_head.weight", "encoder.embed_tokens.weight")
    shared = next((name for name in names if name in tensors), names[0])
    yield Entry(model.source_embeddings.tokens.matrix, shared)
    if model.head.linear is not None:
        yield Entry(model.target_embeddings.tokens.matrix, shared)
        yield Entry(model.head.linear.kernel, "lm_head.weight", transposed=True)
    stacks = (
        ("encoder", model.encoder_stack, encoder_own),
        ("decoder", model.decoder_stack, "SelfAttention"),
    )
    for side, stack, own in stacks:
        for number, relative in enumerate(stack.relatives or [stack.relative]):
            here = f"{side}.block.{number}.layer.0.{own}"
            yield Entry(relative.matrix, f"{here}.relative_attention_bias.weight")
        for number, block in enumerate(stack.blocks):
            for place, part in enumerate(block.sub_layers):
                here = f"{side}.block.{number}.layer.{place}"
                yield from norm(part.residual.layer_norm, f"{here}.layer_norm")
                yield from _sub_layer(part, here, own)
        last = f"{side}.final_layer_norm"
        yield from norm(stack.final_norm, last, factor if side == "decoder" else 1.0)


def _sub_layer(part: Any, here: str, own: str) -> Iterator[Entry]:
    if part.attends_to is None:
        layer, dense = part.layer, f"{here}.DenseReluDense"
        if layer.gate is None:
            yield from linear(layer.hidden, f"{dense}.wi")
        else:
            yield from linear(layer.hidden, f"{dense}.wi_0")
            yield from linear(layer.gate, f"{dense}.wi_1")
        yield from linear(layer.output_linear, f"{dense}.wo")
        return
    kind = own if part.attends_to == "own" else "EncDecAttention"
    for name, layer in zip("qkvo", part.layer.linear_layers, strict=True):
        yield from linear(layer, f"{here}.{kind}.{name}")
