"""The tokens and the attention of a sentence pair, for pictures."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_transformer.decoding.translator import Translator
from keras_transformer.models import Transformer
from keras_transformer.models.attention_maps import AttentionMaps, attention_maps
from keras_transformer.text.tokenizer import Tokenizer

_BEGIN, _END = "<s>", "</s>"


@dataclass(frozen=True)
class SeenPair:
    """Tokens of a pair and the attention between them.

    Attributes:
        source: Pieces that the encoder reads, the end token last.
        read: Pieces that the decoder reads, the start token first.
        written: Pieces that it should predict at the same places, the end token last.
        maps: Attention of this one pair, a batch of 1.
    """

    source: list[str]
    read: list[str]
    written: list[str]
    maps: AttentionMaps


def see_pair(
    model: Transformer,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    source: str,
    target: str | None = None,
) -> SeenPair:
    """Runs a model on a sentence and its translation.

    Args:
        model: A trained model.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language.
        source: The sentence.
        target: A translation of it; the model's own, by greedy search, if None.

    Raises:
        ValueError: The sentence has no token.
    """
    source_ids = source_tokenizer.encode([source])[0]
    if not source_ids:
        raise ValueError(f"source must hold at least one token, got {source!r}.")
    begins = model.config.marks.begins()
    source_ids = [*begins.source, *source_ids]
    if target is None:
        translator = Translator(model, source_tokenizer, target_tokenizer, letterless="translate")
        target_ids = list(translator.translate_n_best([source])[0][0].ids)
    else:
        target_ids = [*begins.target, *target_tokenizer.encode([target])[0]]
    special_ids = model.config.special_ids
    read = _row(special_ids.decoder_start, *target_ids)
    ends = model.config.source_ends
    maps = attention_maps(model, _row(*source_ids, *ends), read)
    pieces = target_tokenizer.pieces(target_ids)
    read_source = source_tokenizer.pieces([*source_ids, *ends])
    return SeenPair(read_source, [_BEGIN, *pieces], [*pieces, _END], maps)


def _row(*ids: int) -> Any:
    return np.array([ids], np.int32)
