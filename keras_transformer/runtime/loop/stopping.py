"""Stops in the tokens of a batch: of rows that are decoded one by one, and of beams."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.runtime.loop.requests import Ids, Rows, SearchRequest
from keras_transformer.search.stops import Stops, StopWatch


class RowWatches:
    """The watches of rows that are decoded one by one.

    Args:
        request: The batch.
        stops: Its stops.
        samples: Rows of each sentence.
    """

    def __init__(self, request: SearchRequest, stops: Stops, samples: int) -> None:
        prefixes = [row for row in _prefixes(request) for _ in range(samples)]
        self._watches = [stops.watch(prefix) for prefix in prefixes]
        self._begins = [len(prefix) for prefix in prefixes]

    def ends(
        self, found: Ids, step: int, done: npt.NDArray[np.bool_], eos: int
    ) -> list[tuple[int, int]]:
        """Returns each row that a stop ends, and how many tokens it has then.

        Args:
            found: The tokens of the next steps, `(steps, rows)`.
            step: How many tokens came before.
            done: Which rows have ended already.
            eos: The token that ends a row by itself.
        """
        ends = []
        for row in np.flatnonzero(~done).tolist():
            tokens = found[:, row].tolist()
            for place, token in enumerate(tokens, start=step):
                if token == eos:
                    break
                if place >= self._begins[row] and self._watches[row].add(token):
                    ends.append((row, place + 1))
                    break
        return ends

    def join(self, other: "RowWatches") -> None:
        """Puts the rows of others behind its own."""
        self._watches += other._watches
        self._begins += other._begins

    def keep(self, rows: Rows) -> None:
        """Drops all rows but these, and puts them in this order."""
        kept = rows.tolist()
        self._watches = [self._watches[row] for row in kept]
        self._begins = [self._begins[row] for row in kept]


class BeamWatches:
    """The watches of the open hypotheses of beam search.

    Args:
        request: The batch.
        stops: Its stops.
    """

    def __init__(self, request: SearchRequest, stops: Stops) -> None:
        prefixes = _prefixes(request)
        self._watches: list[list[StopWatch]] = [
            [stops.watch(prefix)] * request.beams for prefix in prefixes
        ]
        self._begins = [len(prefix) for prefix in prefixes]

    def ended(
        self, ids: Ids, parents: Ids, is_open: npt.NDArray[np.bool_], length: int
    ) -> npt.NDArray[np.bool_]:
        """Returns which hypotheses a stop ends: `(S, W)`.

        Args:
            ids: The newest token of each, `(S, W)`.
            parents: The beam that each continues, `(S, W)`.
            is_open: Which of them may go on, `(S, W)`.
            length: Tokens that each has.
        """
        ended = np.zeros(ids.shape, bool)
        for sentence, before in enumerate(self._watches):
            own = [before[parent].fork() for parent in parents[sentence].tolist()]
            self._watches[sentence] = own
            if length <= self._begins[sentence]:
                continue
            for beam in np.flatnonzero(is_open[sentence]).tolist():
                ended[sentence, beam] = own[beam].add(int(ids[sentence, beam]))
        return ended

    def join(self, other: "BeamWatches") -> None:
        """Puts the sentences of others behind its own."""
        self._watches += other._watches
        self._begins += other._begins

    def keep(self, sentences: Rows) -> None:
        """Drops all sentences but these, and puts them in this order."""
        kept = sentences.tolist()
        self._watches = [self._watches[sentence] for sentence in kept]
        self._begins = [self._begins[sentence] for sentence in kept]


def _prefixes(request: SearchRequest) -> Sequence[Sequence[int]]:
    return request.prefixes or [()] * len(request.limits)
