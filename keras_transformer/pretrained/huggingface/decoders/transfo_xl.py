"""Transformer-XL (Dai et al. 2019), without adaptive embeddings and softmax."""

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

_EMBEDDINGS, _HEAD = "transformer.word_emb.emb_layers.0.weight", "crit.out_layers.0.weight"
# Rates that are computed, and a head that is tied.
_UNREAD = ("pos_emb.inv_freq", _HEAD)


def transfo_xl_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Transformer-XL.

    With `same_length` each token reads `mem_len` places, its own among them; without, all that is
    remembered and, in segments of up to `mem_len` tokens, all before it.
    """
    width, memory = fields.integer("d_model", 1024), fields.integer("mem_len", 1600, least=1)
    window = memory if fields.flag("same_length", True) else 2 * memory
    # None of these changes what a model with one cluster computes.
    fields.require(cutoffs=[], div_val=1, d_embed=width, pre_lnorm=False, attn_type=0, untie_r=True)
    if window - 1 > (clamp := fields.integer("clamp_len", 1000, least=-1)) > 0:
        raise ImportRefusedError(
            f"{fields.path} has clamp_len={clamp}, from which on distances count alike, and tokens "
            f"that read up to {window - 1} places before them: only larger ones are supported."
        )
    if _HEAD in tensors and not np.array_equal(tensors[_HEAD], tensors[_EMBEDDINGS]):
        raise ImportRefusedError(
            f"{tensors.origin} holds {_HEAD} that differs from the embeddings: a Transformer-XL "
            "whose head is not tied to them is not supported."
        )
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
        memory_length=memory,
        window=window,
        activation="relu",
        norm="post",
        layer_norm_epsilon=fields.number("layer_norm_epsilon", 1e-5),
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("dropatt", 0.0),
        scale_embeddings=True,
        logit_bias=True,
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
    yield Entry(model.embeddings.tokens.matrix, _EMBEDDINGS, fill=0.0)
    yield Entry(model.head.bias, "crit.out_layers.0.bias", fill=NEVER)
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


# By `model_type`.
TRANSFO_XLS = {
    "transfo-xl": SingleStack(
        transfo_xl_config, transfo_xl_table, _UNREAD, partial(read_vocabulary, begins=False)
    ),
}
