"""XLNet (Yang et al. 2019): alone, with its query stream, or with a head that ours has, too."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.encoders.heads import classifier_fields, label_names
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import read_vocabulary
from keras_transformer.pretrained.huggingface.single_stacks import SingleStack
from keras_transformer.pretrained.sentencepiece_json import TOKENIZER
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Array, Entry, linear, norm
from keras_transformer.text.tokenizer import Tokenizer

# The ending of an architecture's name → our head.
HEADS: dict[str, str | None] = {
    "LMHeadModel": "masked_lm",
    "ForSequenceClassification": "classification",
    "ForTokenClassification": "tagging",
    "ForQuestionAnsweringSimple": "spans",
    "Model": None,
}
BODY, MATRIX, START = "transformer.", "word_embedding.weight", "mask_emb"
_LM_MATRIX, _SUMMARY = "lm_loss.weight", "sequence_summary.summary"
_SPECIAL = {"pad": "<pad>", "unk": "<unk>", "eos": "<sep>", "mask": "<mask>", "cls": "<cls>"}


def xlnet_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of an XLNet; its `mem_len`, of segments before a text, is not read."""
    fields.require(attn_type="bi", bi_data=False, tie_word_embeddings=True)
    fields.require(summary_type="last", summary_use_proj=True)
    if _LM_MATRIX in tensors and not np.array_equal(tensors[_LM_MATRIX], tensors[BODY + MATRIX]):
        raise ImportRefusedError(
            f"{tensors.origin} holds {_LM_MATRIX} that differs from the embeddings: an XLNet whose "
            "head is not tied to them is not supported."
        )
    width, heads = fields.integer("d_model", 1024), fields.integer("n_head", 16)
    dropout, clamp = fields.number("dropout", 0.1), fields.integer("clamp_len", -1, least=-1)
    return EncoderConfig(
        vocab_size=fields.vocab_size(),
        model_dim=width,
        feed_forward_dim=fields.integer("d_inner", 4096),
        num_heads=heads,
        num_layers=fields.integer("n_layer", 24),
        activation=fields.activation("ff_activation", "gelu"),
        dropout=dropout,
        attention_dropout=dropout,
        activation_dropout=dropout,
        layer_norm_epsilon=fields.number("layer_norm_eps", 1e-12),
        positions="none",
        max_positions=None,
        relative_sinusoids=True,
        farthest_distance=clamp if clamp > 0 else None,
        num_token_types=3,
        relative_segments=True,
        attention_bias=False,
        embedding_norm=False,
        special_ids=special_ids,
        **_head(fields),
    )


def _head(fields: Fields) -> dict[str, Any]:
    """Returns the fields of our head."""
    architecture = fields.first_text("architectures", "XLNetModel")
    ending = next((end for end in HEADS if architecture.endswith(end)), None)
    if ending is None:
        raise ImportRefusedError(
            f"{fields.path} is of a {architecture}: of the XLNets, those ending with "
            f"{', '.join(HEADS)} are supported."
        )
    head = HEADS[ending]
    if head == "classification":
        fields.require(summary_activation="tanh")
        return {"pooler": True, **classifier_fields(fields)}
    labels = label_names(fields) if head == "tagging" else ()
    return {"pooler": False, "head": head, "labels": labels, "query_stream": head == "masked_lm"}


@dataclass(frozen=True)
class _OfHeads(Entry):
    """A projection `(model_dim, heads, key_dim)`, which ours has as a matrix.

    Attributes:
        heads: How many.
        of_distances: Whether it reads sinusoids, all sines and then all cosines in the file.
        is_output: Whether it is of heads to states.
    """

    heads: int = 1
    of_distances: bool = False
    is_output: bool = False

    def read(self, tensor: Array) -> Array:
        """Returns the matrix."""
        array = np.asarray(tensor, np.float32)
        array = array.reshape(len(array), -1)
        if self.of_distances:
            array = np.stack(np.split(array, 2), axis=1).reshape(array.shape)
        return array.T if self.is_output else array

    def write(self, rows: int | None = None) -> Array:
        """Returns the projection as the file has it."""
        array = np.asarray(self.weight, np.float32)
        array = array.T if self.is_output else array
        if self.of_distances:
            array = np.concatenate([array[0::2], array[1::2]])
        return np.ascontiguousarray(array).reshape(len(array), self.heads, -1)


@dataclass(frozen=True)
class _OfPlaces(Entry):
    """A vector that the file has as `(1, 1, width)`."""

    def read(self, tensor: Array) -> Array:
        """Returns the vector."""
        return np.asarray(tensor, np.float32).reshape(-1)

    def write(self, rows: int | None = None) -> Array:
        """Returns it as the file has it."""
        return np.asarray(self.weight, np.float32).reshape(1, 1, -1)


def xlnet_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of an XLNet with its head."""
    body = BODY if any(name.startswith(BODY) for name in tensors) else ""
    yield Entry(model.embeddings.tokens.matrix, body + MATRIX)
    if model.query_start is not None:
        yield _OfPlaces(model.query_start.vector, body + START)
        yield Entry(model.head.bias, "lm_loss.bias")
    for number, block in enumerate(model.encoder_stack.blocks):
        here, attention = f"{body}layer.{number}.", block.attention
        own = f"{here}rel_attn."
        query, key, value, output, distances = attention.linear_layers
        heads = {"heads": attention.config.num_heads}
        for name, layer in (("q", query), ("k", key), ("v", value)):
            yield _OfHeads(layer.kernel, own + name, **heads)
        yield _OfHeads(output.kernel, f"{own}o", is_output=True, **heads)
        yield _OfHeads(distances.kernel, f"{own}r", of_distances=True, **heads)
        yield Entry(attention.distances.content_bias, f"{own}r_w_bias")
        yield Entry(attention.distances.position_bias, f"{own}r_r_bias")
        yield Entry(attention.segments.segment_bias, f"{own}r_s_bias")
        yield Entry(attention.segments.vectors, f"{own}seg_embed")
        yield from norm(block.attention_residual.layer_norm, f"{own}layer_norm")
        yield from linear(block.feed_forward.hidden, f"{here}ff.layer_1")
        yield from linear(block.feed_forward.output_linear, f"{here}ff.layer_2")
        yield from norm(block.feed_forward_residual.layer_norm, f"{here}ff.layer_norm")
    if model.pooler is not None:
        yield from linear(model.pooler.linear, _SUMMARY)
    names = {"classification": "logits_proj", "regression": "logits_proj", "tagging": "classifier"}
    head = model.config.head
    if head in (*names, "spans"):
        yield from linear(model.head.linear, names.get(head, "qa_outputs"))


def xlnet_vocabulary(path: Path, fields: Fields) -> Tokenizer:
    """Reads `tokenizer.json`, which holds SentencePiece's pieces and what is done to a text before.

    A row of theirs ends with `<sep><cls>`, so that it has no begin.

    Raises:
        ImportRefusedError: There is none, or it is damaged or without a special token; a
            `spiece.model` alone does not say what is done before.
    """
    if not (path / TOKENIZER).is_file():
        raise ImportRefusedError(
            f"{path} has no {TOKENIZER}, and spiece.model alone does not say how an XLNet's texts "
            "lose accents: write it with transformers, by "
            f"AutoTokenizer.from_pretrained({str(path)!r}).save_pretrained({str(path)!r})."
        )
    read = read_vocabulary(path, fields, begins=True)
    ids: dict[str, Any] = {}
    for name, piece in _SPECIAL.items():
        found = read.subwords.id_of(piece)
        if found is None:
            raise ImportRefusedError(f"{path / TOKENIZER} has no piece {piece!r}.")
        ids[name] = found
    return Tokenizer(read.model, SpecialIds(bos=None, **ids))


# By `model_type`.
XLNETS = {
    "xlnet": SingleStack(
        xlnet_config,
        xlnet_table,
        (_LM_MATRIX,),
        xlnet_vocabulary,
        search=lambda path, fields, special_ids: {},
        unused=(START, f"{_SUMMARY}."),
    ),
}
