"""`generate` of the models that write.

The record of a model's family names the engine that searches: it stands on the models, which import
none of it.
"""

from collections.abc import Sequence
from typing import Any, Unpack

import keras
import numpy as np
import numpy.typing as npt

from keras_transformer.config.family import FAMILIES
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.models.family_model import FamilyModel
from keras_transformer.search.keywords import SearchKeywords, search_options
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.tensors import Tensor
from keras_transformer.translation.marked import MarkedEngine, without_languages

Ids = npt.NDArray[np.int32]
Rows = list[list[int]]

# As `Translator` and `Generator` have it.
_BATCH_TOKENS = 4096


class WritingModel(FamilyModel):
    """Base class of encoder-decoders and decoders, the models that generate text."""

    def _engine(self) -> Any:
        if self.search_engine is None:
            # Before the engine is imported, which imports TensorFlow.
            require_tensorflow_backend("generate")
            engine = FAMILIES[self.config.family].load("engine")
            self.search_engine = engine(self, _BATCH_TOKENS)
        return self.search_engine

    def _without_start(self, rows: Rows) -> Rows:
        start = self.config.special_ids.decoder_start
        return [row[1:] if row[:1] == [start] else row for row in rows]

    def _padded(
        self,
        found: list[list[Candidate]],
        options: SearchOptions,
        before: Sequence[Sequence[int]] | None = None,
    ) -> Ids:
        """Returns the candidates' ids, each behind what comes before it, as one array."""
        count = options.num_hypotheses
        before = before or [()] * len(found)
        rows = [
            [[*first, *one.ids] for one in row] for first, row in zip(before, found, strict=True)
        ]
        longest = max((len(ids) for row in rows for ids in row), default=0)
        padded = np.full((len(rows), count, longest), self.config.special_ids.pad, np.int32)
        for place, row in enumerate(rows):
            for rank, ids in enumerate(row):
                padded[place, rank, : len(ids)] = ids
        return padded[:, 0] if count == 1 else padded


class TranslatingModel(WritingModel):
    """The base of models with an encoder and a decoder."""

    @suggests_arguments
    def generate(
        self, source_ids: Tensor, target_ids: Tensor = None, **options: Unpack[SearchKeywords]
    ) -> Ids:
        """Searches for translations, or draws them.

        Args:
            source_ids: Integers `(batch, source_length)`, or a list of rows. Padding is ignored,
                and eos at the end of a row may be missing.
            target_ids: What each translation begins with, likewise, with or without the decoder's
                first token; None for nothing.
            **options: Fields of `SearchOptions`, such as `beam_size` and `max_length`.

        Returns:
            Ids of text, without start and end tokens, then padding: int32 `(batch, length)`, or
            `(batch, num_hypotheses, length)` for several hypotheses, best first.

        Raises:
            ValueError: An id or an option does not fit the model, or Keras runs on another backend
                than TensorFlow.
            TypeError: The ids are no integers, or an option is unknown.

        Example:
            `model.generate([[5, 6, 7], [8, 9]], beam_size=4, max_length=20)`
        """
        special_ids = self.config.special_ids
        asked = search_options({}, options)
        begins = self.config.marks.begins(asked.source_language, asked.target_language)
        chosen = without_languages(asked)
        sources = [
            row[:-1] if row[-1:] == [special_ids.eos] else row
            for row in _rows("source_ids", source_ids, special_ids.pad)
        ]
        prefixes = None
        if target_ids is not None:
            prefixes = self._without_start(_rows("target_ids", target_ids, special_ids.pad))
        found = MarkedEngine(self._engine(), [begins]).search(sources, chosen, prefixes)
        return self._padded(found, chosen)


class ContinuesPrompts(WritingModel):
    """The base of models with a decoder alone."""

    @suggests_arguments
    def generate(
        self, token_ids: Tensor, *, strip_prompt: bool = False, **options: Unpack[SearchKeywords]
    ) -> Ids:
        """Searches for what follows prompts, or draws it.

        Args:
            token_ids: Integers `(batch, length)`, or a list of rows, with or without the start
                token, which goes before those of a model with `starts_prompts`. Padding is ignored.
            strip_prompt: Whether to return the new tokens alone.
            **options: Fields of `SearchOptions`; their lengths count new tokens.

        Returns:
            Each prompt and its new tokens, ids of text without start and end tokens, then padding:
            int32 `(batch, length)`, or `(batch, num_hypotheses, length)` for several hypotheses,
            best first.

        Raises:
            ValueError: An id or an option does not fit the model, or Keras runs on another backend
                than TensorFlow.
            TypeError: The ids are no integers, or an option is unknown.

        Example:
            `model.generate([[5, 6, 7], [8, 9]], max_length=20, sample=True, top_p=0.9)`
        """
        chosen = search_options({}, options)
        rows = _rows("token_ids", token_ids, self.config.special_ids.pad)
        prompts = self._without_start(rows)
        given = prompts if self.config.starts_prompts else rows
        found = self._engine().search(given, chosen)
        before = [[] for _ in prompts] if strip_prompt else prompts
        return self._padded(found, chosen, before)


def _rows(name: str, ids: Tensor, pad: int) -> Rows:
    """Returns rows of plain integers without padding.

    Raises:
        ValueError: There is not one row for each text.
        TypeError: They hold something else than integers.
    """
    if not isinstance(ids, list | tuple):
        ids = ids.to_list() if hasattr(ids, "to_list") else keras.ops.convert_to_numpy(ids)
    rows = [np.asarray(row) for row in ids]
    for number, row in enumerate(rows):
        if row.ndim != 1:
            raise ValueError(
                f"{name} must be rows of ids, (batch, length): row {number} has the shape "
                f"{row.shape}."
            )
        if row.size and row.dtype.kind not in "iu":
            raise TypeError(f"{name} must be integers, got {row.dtype} in row {number}.")
    return [row[row != pad].tolist() for row in rows]
