"""SentencePiece in TensorFlow graphs: string tensors to ragged ids and back.

The ids are those of the `Tokenizer` whose model bytes it reads, in tf.data pipelines and in
exported signatures.
"""

import hashlib
from typing import Any

import tensorflow as tf

from keras_transformer.distribution import install_command
from keras_transformer.text.subwords.sentencepiece_model import SentencePieceModel
from keras_transformer.text.subwords.symbols_apart import SymbolsApart
from keras_transformer.text.tokenizer import Tokenizer

try:
    import tensorflow_text
    from tensorflow_text.python.ops import sentencepiece_tokenizer as _operators
except ImportError as _error:
    raise ImportError(
        f"GraphTokenizer needs tensorflow-text: install it with `{install_command('train')}`."
    ) from _error


class _SharedModel(tf.saved_model.experimental.TrackableResource):
    """The parsed model inside TensorFlow, under a name of its own.

    tensorflow-text leaves it to the operator that made it, and any `tf.random.set_seed` or
    `keras.utils.set_random_seed` drops that operator: every later call would fail with "Resource
    does not exist". A shared name outlives the operator; as a hash of the model it can only ever
    be shared with an equal model.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__()
        self._model = model
        self._shared_name = f"sentencepiece_{hashlib.sha256(model).hexdigest()}"
        # Reading the property creates the resource now, outside any graph.
        _ = self.resource_handle

    def _create_resource(self) -> tf.Tensor:
        return _operators.gen_sentencepiece_tokenizer.sentencepiece_op(
            model=self._model, shared_name=self._shared_name
        )


def can_be_read_in_graphs(tokenizer: Tokenizer) -> bool:
    """Returns whether TensorFlow has an operator for a vocabulary: for SentencePiece alone."""
    return tokenizer.kind == "sentencepiece"


class GraphTokenizer(tf.Module):
    """The graph reader of a SentencePiece model.

    A `tf.Module`, so a SavedModel that tracks it carries the model inside the graph.

    Args:
        model: the serialized model, `Tokenizer.model`; checked as `Tokenizer` does.

    Attributes:
        vocab_size: Number of ids, the special ones included.
        special_ids: The ids that are no text.

    Raises:
        ValueError: It is a `tokenizer.json`.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__(name="graph_tokenizer")
        plain = Tokenizer(model)
        if not can_be_read_in_graphs(plain):
            raise ValueError("TensorFlow reads no tokenizer.json in a graph: give token ids.")
        self.vocab_size, self.special_ids = plain.vocab_size, plain.special_ids
        subwords = plain.subwords
        self._has_unknown_pieces = subwords.unknown_pieces > 0
        self._symbols, self._space = tuple(subwords.symbols.values()), subwords.space
        self._pattern = SymbolsApart(subwords.symbols).pattern
        shared = _SharedModel(model)
        self._reader = self._open(model, tf.int32, shared)
        hidden: dict[str, int] = {}
        if isinstance(subwords, SentencePieceModel):
            hidden = subwords.hidden_pieces()
        self._hidden: Any = None
        if hidden:
            self._spellings = self._open(model, tf.string, shared)
            ids = tf.lookup.KeyValueTensorInitializer(
                list(hidden), list(hidden.values()), tf.string, tf.int64
            )
            self._hidden = tf.lookup.StaticHashTable(ids, self.special_ids.unk)

    @staticmethod
    def _open(model: bytes, ids_or_pieces: tf.DType, shared: _SharedModel) -> Any:
        reader = tensorflow_text.SentencepieceTokenizer(model=model, out_type=ids_or_pieces)
        reader._model_resource = shared
        return reader

    def tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """Ids without bos and eos: strings (B,) of UTF-8 to ragged int32 (B, None)."""
        if self._symbols:
            strings = tf.strings.regex_replace(strings, self._pattern, r"\0 ")
        ids = self._reader.tokenize(strings)
        flat, unk = ids.flat_values, self.special_ids.unk
        if self._hidden is not None:
            is_unknown = flat == unk
            flat = tf.cond(
                tf.reduce_any(is_unknown),
                lambda: tf.where(is_unknown, self._by_spelling(strings), ids.flat_values),
                lambda: ids.flat_values,
            )
        if self._has_unknown_pieces:
            flat = tf.where(flat < self.vocab_size, flat, unk)
        ids = ids.with_flat_values(flat)
        return self._without_spaces(ids) if self._symbols else ids

    def _without_spaces(self, ids: tf.RaggedTensor) -> tf.RaggedTensor:
        """Ids without the spaces before symbols that stand apart."""
        flat, rows = ids.flat_values, ids.value_rowids()
        is_symbol = tf.reduce_any(flat[:, None] == tf.constant(self._symbols), axis=1)
        before_symbol = tf.pad(is_symbol[1:] & (rows[1:] == rows[:-1]), [[0, 1]])[: tf.size(flat)]
        is_dropped = before_symbol & (flat == (-1 if self._space is None else self._space))
        return tf.ragged.boolean_mask(ids, ids.with_flat_values(~is_dropped))

    def _by_spelling(self, strings: tf.Tensor) -> tf.Tensor:
        """Ids of all tokens' spellings that only another side's texts are split to; else unk."""
        pieces = self._spellings.tokenize(strings).flat_values
        return tf.cast(self._hidden.lookup(pieces), tf.int32)

    def detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Texts (B,) of ragged int32 ids (B, None); pad, unk, bos and eos are dropped."""
        is_text = tf.ones_like(ids, tf.bool)
        for special in sorted(self.special_ids.without_text):
            is_text &= ids != special
        return self._reader.detokenize(tf.ragged.boolean_mask(ids, is_text))
