"""The tokens and the attention of a sentence pair, or of one text, for pictures."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keras_transformer.decoding.translator import Translator
from keras_transformer.models import Transformer
from keras_transformer.models.attention_maps import (
    AttentionMaps,
    SelfAttention,
    attention_maps,
    self_attention,
)
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.plotting.query_key_features import ComparedTokens
from keras_transformer.text.layout import decoder_row, encoder_row
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


@dataclass(frozen=True)
class SeenText:
    """Tokens of a text and the attention between them.

    Attributes:
        tokens: Pieces that the model reads, special ones included.
        attention: That of this one text, a batch of 1.
    """

    tokens: list[str]
    attention: SelfAttention

    def compared(self, tokens: Sequence[str], layer: int | None = None) -> ComparedTokens:
        """Returns what a layer compares of two tokens.

        Args:
            tokens: The one that looks and the one that is looked at, each a piece, with or without
                the space before it, or the number of its place, from 1.
            layer: From 1; the last if None.

        Raises:
            ValueError: There is no such token or layer, or the piece stands at several places.
        """
        layers = len(self.attention.weights)
        layer = layers if layer is None else layer
        if not 1 <= layer <= layers:
            raise ValueError(f"layer must lie between 1 and {layers}, got {layer}.")
        query, key = map(self._place, tokens)
        return ComparedTokens(
            _without_space(self.tokens[query]),
            _without_space(self.tokens[key]),
            self.attention.queries[layer - 1, 0, :, query],
            self.attention.keys[layer - 1, 0, :, key],
        )

    def _place(self, wanted: str) -> int:
        names = [(token, _without_space(token)) for token in self.tokens]
        places = [at for at, both in enumerate(names) if wanted in both]
        if not places and wanted.isdecimal() and 1 <= int(wanted) <= len(self.tokens):
            return int(wanted) - 1
        if len(places) != 1:
            pieces = enumerate(map(_without_space, self.tokens), 1)
            numbered = " ".join(f"{at}:{piece}" for at, piece in pieces)
            found = f"at {len(places)} places" if places else "nowhere"
            raise ValueError(
                f"tokens: {wanted!r} stands {found}: give one of {numbered}, or its number."
            )
        return places[0]


def see_text(model: EncoderOnly | DecoderOnly, tokenizer: Tokenizer, text: str) -> SeenText:
    """Runs an encoder or a decoder alone on a text.

    Args:
        model: A trained model.
        tokenizer: Its tokenizer.
        text: What it reads.

    Raises:
        ValueError: The text has no token, or the model no attention.
    """
    ids, special_ids = tokenizer.encode([text])[0], model.config.special_ids
    if not ids:
        raise ValueError(f"text must hold at least one token, got {text!r}.")
    if isinstance(model, EncoderOnly):
        row, _ = encoder_row(ids, None, special_ids)
    else:
        row = decoder_row(ids[::-1] if model.config.reads_backward else ids, special_ids)
    return SeenText(tokenizer.pieces(row), self_attention(model, _row(*row)))


def _without_space(piece: str) -> str:
    """Returns a piece without the mark of the space before it; a space itself as it is."""
    return piece.strip(" \u2581") or piece


def _row(*ids: int) -> Any:
    return np.array([ids], np.int32)
