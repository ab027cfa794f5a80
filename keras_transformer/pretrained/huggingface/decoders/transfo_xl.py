"""Transformer-XL (Dai et al. 2019), with adaptive embeddings and softmax or without."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.common import rows
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import read_vocabulary
from keras_transformer.pretrained.huggingface.single_stacks import SingleStack
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import NEVER, Array, Entry, linear, norm

_EMBEDDINGS, _HEAD = "transformer.word_emb.emb_", "crit.out_"
# Rates that are computed, and what is tied.
_UNREAD = ("pos_emb.inv_freq", f"{_HEAD}layers.", f"{_HEAD}projs.")


def transfo_xl_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Transformer-XL.

    With `same_length` each token reads `mem_len` places, its own among them; without, all that is
    remembered and, in segments of up to `mem_len` tokens, all before it.
    """
    width, memory = fields.integer("d_model", 1024), fields.integer("mem_len", 1600, least=1)
    window = memory if fields.flag("same_length", True) else 2 * memory
    fields.require(d_embed=width, pre_lnorm=False, attn_type=0, untie_r=True)
    listed = fields.items("cutoffs", [20_000, 40_000, 200_000])
    cutoffs = [listed.integer(one) for one in listed.values]
    # With one cluster it changes nothing.
    div_value = fields.integer("div_val", 4, least=1)
    if cutoffs and div_value == 1:
        raise ImportRefusedError(
            f"{fields.path} has cutoffs: {cutoffs!r} with div_val: 1, and only a larger one is "
            "supported, with which each cluster has a matrix of its own."
        )
    _check_tied(tensors)
    clamp = fields.integer("clamp_len", 1000, least=-1)
    return DecoderConfig(
        vocab_size=rows(fields, special_ids),
        model_dim=width,
        feed_forward_dim=fields.integer("d_inner", 4096),
        num_heads=fields.integer("n_head", 16),
        key_dim=fields.integer("d_head", 64),
        value_dim=fields.integer("d_head", 64),
        num_layers=fields.integer("n_layer", 18),
        positions="none",
        max_positions=None,
        relative_sinusoids=True,
        farthest_distance=clamp if 0 < clamp < window - 1 else None,
        memory_length=memory,
        window=window,
        activation="relu",
        norm="post",
        layer_norm_epsilon=fields.number("layer_norm_epsilon", 1e-5),
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("dropatt", 0.0),
        scale_embeddings=True,
        logit_bias=True,
        cutoffs=tuple(cutoffs),
        div_value=div_value if cutoffs else DecoderConfig.div_value,
        special_ids=special_ids,
    )


@dataclass(frozen=True)
class _OfDistances(Entry):
    """The projection of distances, whose sinusoids are all sines, then all cosines in the file."""

    def read(self, tensor: Array) -> Array:
        """Returns it for sines and cosines in turn."""
        array = super().read(tensor)
        return np.stack(np.split(array, 2), axis=1).reshape(array.shape)


def transfo_xl_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a Transformer-XL, whose attention has no biases but u and v."""
    del tensors
    yield from _of_clusters(model) if model.config.cutoffs else _of_all_ids(model)
    for number, block in enumerate(model.decoder_stack.blocks):
        here = f"transformer.layers.{number}."
        own, attention = f"{here}dec_attn.", block.self_attention
        yield from norm(block.self_attention_residual.layer_norm, f"{own}layer_norm")
        yield from norm(block.feed_forward_residual.layer_norm, f"{here}pos_ff.layer_norm")
        *projections, output, distances = attention.linear_layers
        for part, layer in enumerate(projections):
            yield Entry(layer.kernel, f"{own}qkv_net.weight", transposed=True, part=part, parts=3)
        yield Entry(output.kernel, f"{own}o_net.weight", transposed=True)
        for layer in (*projections, output):
            yield Entry(layer.bias, "", absent=0.0)
        yield _OfDistances(distances.kernel, f"{own}r_net.weight", transposed=True)
        yield Entry(attention.distances.content_bias, f"{own}r_w_bias")
        yield Entry(attention.distances.position_bias, f"{own}r_r_bias")
        yield from linear(block.feed_forward.hidden, f"{here}pos_ff.CoreNet.0")
        yield from linear(block.feed_forward.output_linear, f"{here}pos_ff.CoreNet.3")


def _check_tied(tensors: Tensors) -> None:
    """Raises `ImportRefusedError` unless the head is tied as the published ones are: to all of the
    embeddings but the first cluster's projection.
    """
    for name in tensors:
        theirs = f"{_EMBEDDINGS}{name.removeprefix(_HEAD)}"
        may_differ = not name.startswith(_HEAD) or name.endswith((".bias", "projs.0"))
        if not may_differ and not np.array_equal(tensors[name], tensors[theirs]):
            raise ImportRefusedError(
                f"{tensors.origin} holds {name} that differs from the embeddings: a Transformer-XL "
                "whose head is not tied to them is not supported."
            )


def _of_all_ids(model: Any) -> Iterator[Entry]:
    yield Entry(model.embeddings.tokens.matrix, f"{_EMBEDDINGS}layers.0.weight", fill=0.0)
    yield Entry(model.head.bias, "crit.out_layers.0.bias", fill=NEVER)


def _of_clusters(model: Any) -> Iterator[Entry]:
    tokens, head = model.embeddings.tokens, model.head
    for number, (matrix, projection) in enumerate(
        zip(tokens.matrices, tokens.projections, strict=True)
    ):
        yield Entry(matrix, f"{_EMBEDDINGS}layers.{number}.weight", fill=0.0)
        yield Entry(projection, f"{_EMBEDDINGS}projs.{number}", transposed=True)
    yield Entry(head.projections[0], f"{_HEAD}projs.0")
    yield Entry(head.choices, "crit.cluster_weight")
    of_choices, *biases = head.biases
    yield Entry(of_choices, "crit.cluster_bias")
    for number, bias in enumerate(biases):
        yield Entry(bias, f"{_HEAD}layers.{number}.bias", fill=NEVER)


# By `model_type`.
TRANSFO_XLS = {
    "transfo-xl": SingleStack(
        transfo_xl_config, transfo_xl_table, _UNREAD, partial(read_vocabulary, begins=False)
    ),
}
