"""GPT-2 (Radford et al. 2019)."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.common import (
    HEAD,
    is_tied,
    never_padding,
    rows,
)
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import read_vocabulary
from keras_transformer.pretrained.huggingface.single_stacks import SingleStack
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Entry, linear, norm

# Masks that are computed, and heads that are tied.
_UNREAD = (".attn.bias", ".attn.masked_bias", HEAD)


def gpt2_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a GPT-2."""
    fields.require(
        scale_attn_weights=True,
        scale_attn_by_inverse_layer_idx=False,
        add_cross_attention=False,
        tie_word_embeddings=True,
    )
    if not is_tied(tensors, f"{_gpt2_body(tensors)}wte.weight"):
        raise ImportRefusedError(
            f"{tensors.origin} holds an {HEAD} that differs from the embeddings: a GPT-2 whose "
            "head is not tied to them is not supported."
        )
    width = fields.integer("n_embd")
    return DecoderConfig(
        vocab_size=rows(fields, special_ids),
        model_dim=width,
        feed_forward_dim=fields.integer("n_inner", 4 * width),
        num_heads=fields.integer("n_head"),
        num_layers=fields.integer("n_layer"),
        max_positions=fields.integer("n_positions"),
        activation=fields.activation("activation_function", "gelu_new"),
        layer_norm_epsilon=fields.number("layer_norm_epsilon", 1e-5),
        dropout=fields.number("resid_pdrop", 0.1),
        attention_dropout=fields.number("attn_pdrop", 0.1),
        logit_bias=special_ids.pad >= fields.vocab_size(),
        special_ids=special_ids,
    )


def gpt2_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a GPT-2, whose linear layers are `(in, out)`, as ours are."""
    body = _gpt2_body(tensors)
    yield Entry(model.embeddings.tokens.matrix, f"{body}wte.weight", fill=0.0)
    yield Entry(model.embeddings.positions.matrix, f"{body}wpe.weight")
    if model.head.bias is not None:
        yield Entry(model.head.bias, "", absent=never_padding(model.config))
    for number, block in enumerate(model.decoder_stack.blocks):
        here = f"{body}h.{number}."
        yield from norm(block.self_attention_residual.layer_norm, f"{here}ln_1")
        yield from norm(block.feed_forward_residual.layer_norm, f"{here}ln_2")
        *parts, output = block.self_attention.linear_layers
        for part, layer in enumerate(parts):
            name = f"{here}attn.c_attn"
            yield from linear(layer, name, transposed=False, part=part, parts=3)
        yield from linear(output, f"{here}attn.c_proj", transposed=False)
        yield from linear(block.feed_forward.hidden, f"{here}mlp.c_fc", transposed=False)
        yield from linear(block.feed_forward.output_linear, f"{here}mlp.c_proj", transposed=False)
    yield from norm(model.decoder_stack.final_norm, f"{body}ln_f")


def _gpt2_body(tensors: Tensors) -> str:
    return "transformer." if "transformer.wte.weight" in tensors else ""


# By `model_type`.
GPTS = {
    "gpt2": SingleStack(gpt2_config, gpt2_table, _UNREAD, partial(read_vocabulary, begins=False)),
}
