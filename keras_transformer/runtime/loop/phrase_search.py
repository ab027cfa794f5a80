"""Beam search for outputs that hold phrases, by dynamic beam allocation in numpy."""

import numpy as np
import numpy.typing as npt

from keras_transformer.runtime.loop.beam_search import BeamSearch
from keras_transformer.runtime.loop.requests import Ids, SearchRequest, Steps, Values
from keras_transformer.runtime.loop.top_k import top_candidates
from keras_transformer.search.phrase_banks import (
    Arrays,
    best_in_banks,
    most_of_each,
    reached,
    tokens_needed,
)
from keras_transformer.search.phrases import phrase_table


def _top_k(values: npt.NDArray, count: int) -> tuple[npt.NDArray, npt.NDArray]:
    places = np.argsort(-values, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(values, places, 1), places


NUMPY = Arrays(np, _top_k, -np.inf)


class PhraseSearch(BeamSearch):
    """Searches one batch in which every output must hold phrases.

    Args:
        steps: The decoder, with one row a sentence.
        request: The sentences, their phrases and the options.
    """

    def __init__(self, steps: Steps, request: SearchRequest) -> None:
        super().__init__(steps, request)
        self._phrases = phrase_table(request.phrases)

    def _continuations(self, most_steps: int | None = None) -> tuple[Values, Ids, Ids, bool]:
        """As `BeamSearch._continuations`, those first that are to be kept."""
        totals = self._constrained(self._steps.logits(self._ids.ravel()))
        sentences, beams, vocabulary = totals.shape
        table = self._phrases[self._sentences]
        phrases = table.reshape(sentences, 1, -1)
        # What fills phrases up stands for their first token.
        places = np.where(phrases < 0, phrases[:, :, :1], phrases).repeat(beams, axis=1)
        spoken = np.take_along_axis(totals, places, 2)
        np.put_along_axis(totals, places, -np.inf, 2)
        begins = self._prompted[self._sentences]
        state = reached(np, table, self._histories(), begins, self.step)
        needed = tokens_needed(np, state)
        room = self._limits[self._sentences] - self.step - 1
        banks, size = phrases.shape[2] + 1, self._size
        most = most_of_each(NUMPY, needed[0], self._totals, room, banks, size)
        count = min(vocabulary, int(most.max()))
        values, tokens = top_candidates(totals.reshape(-1, vocabulary), count)
        shape = (sentences, beams, count)
        values = np.where(np.arange(count) < most[:, None, None], values.reshape(shape), -np.inf)
        found = best_in_banks(
            NUMPY,
            table,
            needed,
            (values, tokens.astype(np.int32).reshape(shape)),
            spoken,
            room,
            self._eos,
            min(2 * size, beams * (count + phrases.shape[2])),
        )
        return found.totals, found.tokens, found.parents.astype(np.int32), True
