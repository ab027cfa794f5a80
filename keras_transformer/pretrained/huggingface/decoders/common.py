"""Common code of decoders: the head, which may be tied to the embeddings, and a padding id of our
own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import NEVER

HEAD = "lm_head.weight"


def is_tied(tensors: Tensors, embeddings: str) -> bool:
    """Whether a file's head is its embeddings; Transformers ties no others, whatever it is told."""
    if HEAD not in tensors or embeddings not in tensors:
        return True
    return np.array_equal(tensors[HEAD], tensors[embeddings])


def shortest_turn(kinds: Sequence[Any]) -> Sequence[Any]:
    """Returns the first of what blocks are, of which the others are repetitions."""
    count = len(kinds)
    period = next(n for n in range(1, count + 1) if kinds[n:] == kinds[: count - n])
    return kinds[:period]


def rows(fields: Fields, special_ids: SpecialIds) -> int:
    """Returns the size of the vocabulary, with a row for a padding that theirs may lack."""
    return max(fields.vocab_size(), special_ids.pad + 1)


def never_padding(config: DecoderConfig) -> Any:
    """Returns biases that keep a padding beyond their vocabulary from being written."""
    is_padding = np.arange(config.vocab_size) == config.special_ids.pad
    return np.where(is_padding, NEVER, 0.0)
