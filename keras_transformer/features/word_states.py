"""The states of a frozen model at the words of texts: of language models of either direction
(Akbik et al. 2018, Flair), of encoders, and of a translation's encoder (McCann et al. 2017, CoVe).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.decoding.batches import pad, run_in_batches
from keras_transformer.decoding.parts import ROWS, as_graph
from keras_transformer.features.sizes import FeatureLayers, feature_config
from keras_transformer.models.families import AnyModel
from keras_transformer.tensors import Tensor
from keras_transformer.text.layout import decoder_row
from keras_transformer.text.subwords.interface import words_in_text
from keras_transformer.text.tokenizer import Tokenizer

States = npt.NDArray[np.float16]
_BATCH_TOKENS = 4096
_LARGEST = float(np.finfo(np.float16).max)


class WordStates:
    """Reads words with a frozen model.

    A decoder's state of a word is that behind the word's last token in the direction in which it
    reads; an encoder's that of the word's first token. Texts longer than the model reads are read
    in parts of as many words as fit.

    Args:
        model: A trained model; a translation's encoder reads the words.
        tokenizer: Its tokenizer, that of the source.
        layers: "all" for the states of the embeddings and of each block, "last" for the last.

    Attributes:
        config: How many layers and features a word's states have.

    Raises:
        ValueError: The model itself reads features of others, or needs to be told a language.
    """

    def __init__(
        self, model: AnyModel, tokenizer: Tokenizer, layers: FeatureLayers = "all"
    ) -> None:
        self.config = feature_config(model.config, layers)
        self._tokenizer = tokenizer
        self._layout = _layout_of(model.config)
        self._pad = model.config.special_ids.pad
        self._run = _graph(model, self.config.num_layers)

    def read(self, texts: Sequence[Sequence[str]]) -> list[States]:
        """Returns the states of the words of each text.

        Args:
            texts: The words of each text.

        Returns:
            For each text float16 `(words, layers, width)`; zeros for a word without tokens.
        """
        parts = [
            (number, part)
            for number, words in enumerate(self._ids(texts))
            for part in _parts(words, self._layout.room)
        ]
        found = [
            np.zeros((len(words), self.config.num_layers, self.config.width), np.float16)
            for words in texts
        ]
        rows = [self._layout.row(part.ids) for _, part in parts]
        places = [
            [self._layout.place(*span, len(part.ids)) for span in part.spans] for _, part in parts
        ]

        def run(batch: list[int]) -> Any:
            token_ids = pad([rows[one] for one in batch], self._pad)
            return np.asarray(self._run(token_ids, pad([places[one] for one in batch], 0)))

        states = run_in_batches([len(row) for row in rows], _BATCH_TOKENS, run)
        for (number, part), one in zip(parts, states, strict=True):
            found[number][part.words] = one[: len(part.words)]
        return found

    def _ids(self, texts: Sequence[Sequence[str]]) -> Iterator[list[list[int]]]:
        spelled = [words_in_text(words, self._tokenizer.subwords) for words in texts]
        ids = iter(self._tokenizer.encode([word for words in spelled for word in words]))
        for words in spelled:
            yield [next(ids) for _ in words]


class _Part(NamedTuple):
    """Words that are read together.

    Attributes:
        words: Their numbers in the text.
        ids: Their tokens.
        spans: The places of each word's first and last token among these.
    """

    words: list[int]
    ids: list[int]
    spans: list[tuple[int, int]]


def _parts(words: Sequence[Sequence[int]], room: int | None) -> Iterator[_Part]:
    """Yields the words of a text that have tokens, as many at a time as there is room for."""
    part = _Part([], [], [])
    for number, tokens in enumerate(words):
        tokens = tokens[:room]
        if room is not None and len(part.ids) + len(tokens) > room:
            yield part
            part = _Part([], [], [])
        if tokens:
            part.spans.append((len(part.ids), len(part.ids) + len(tokens) - 1))
            part.words.append(number)
            part.ids.extend(tokens)
    if part.ids:
        yield part


@dataclass(frozen=True)
class _Layout:
    """How a model reads words.

    Attributes:
        row: Takes the tokens of words and returns the row that the model reads.
        place: Takes the places of a word's first and last token among these, and their number, and
            returns the place of the word's state in the row.
        room: Most tokens of words in a row; None if there is no limit.
    """

    row: Callable[[list[int]], list[int]]
    place: Callable[[int, int, int], int]
    room: int | None


def _layout_of(config: ModelConfig) -> _Layout:
    special, longest = config.special_ids, config.max_positions
    if isinstance(config, DecoderConfig):
        room = None if longest is None else longest - 1
        if config.reads_backward:
            return _Layout(
                lambda ids: decoder_row(ids[::-1], special), lambda first, _, n: n - first, room
            )
        return _Layout(lambda ids: decoder_row(ids, special), lambda _, last, n: last + 1, room)
    before: tuple[int, ...] = () if special.bos is None else (special.bos,)
    behind: tuple[int, ...] = (special.eos,)
    if isinstance(config, EncoderConfig):
        longest = config.longest_row
    else:
        begins = config.marks.begins()
        before, behind = begins.source, begins.behind_source(special.eos)
    around = len(before) + len(behind)
    return _Layout(
        lambda ids: [*before, *ids, *behind],
        lambda first, _, n: len(before) + first,
        None if longest is None else longest - around,
    )


def _graph(model: AnyModel, num_layers: int) -> Callable[..., Tensor]:
    """Returns what takes rows and places and gives float16 `(rows, places, layers, width)`."""

    def run(token_ids: Tensor, places: Tensor) -> Tensor:
        states = tf.stack(model.states_of_layers(token_ids)[-num_layers:], axis=2)
        states = tf.gather(states, places, axis=1, batch_dims=1)
        return tf.cast(
            tf.clip_by_value(tf.cast(states, tf.float32), -_LARGEST, _LARGEST), tf.float16
        )

    return as_graph(run, ROWS, ROWS)
