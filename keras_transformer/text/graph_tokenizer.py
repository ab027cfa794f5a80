"""SentencePiece in TensorFlow graphs: string tensors become ragged ids and back.

Takes the model bytes of a `Tokenizer` and gives the same ids, so it may stand in tf.data
pipelines and in exported signatures.
"""

from typing import Any

import tensorflow as tf

from keras_transformer.special_ids import EOS_ID
from keras_transformer.text.tokenizer import Tokenizer

try:
    import tensorflow_text
except ImportError as _error:
    raise ImportError(
        'GraphTokenizer needs tensorflow-text: pip install "keras-transformer[train]"'
    ) from _error


class GraphTokenizer(tf.Module):
    """The graph reader of a SentencePiece model.

    A `tf.Module`, so a SavedModel that tracks it carries the model inside the graph.

    Args:
        model: the serialized model, `Tokenizer.model`; checked as `Tokenizer` does.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__(name="graph_tokenizer")
        self.vocab_size = Tokenizer(model).vocab_size
        self._reader: Any = tensorflow_text.SentencepieceTokenizer(model=model, out_type=tf.int32)

    def tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """Ids without bos and eos: strings (B,) of UTF-8 to ragged int32 (B, None)."""
        return self._reader.tokenize(strings)

    def detokenize(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Texts (B,) of ragged int32 ids (B, None); pad, unk, bos and eos are dropped."""
        return self._reader.detokenize(tf.ragged.boolean_mask(ids, ids > EOS_ID))
