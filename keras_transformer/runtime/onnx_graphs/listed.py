"""A batch's shortlist as the decoder's graphs take it: takes its ids and their weights, and returns
logits of all ids.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.shortlist import FILLER
from keras_transformer.runtime.loop.requests import Values

IDS, PLACES = "shortlist_ids", "shortlist_places"


class BatchShortlist(NamedTuple):
    """The ids of a batch.

    Attributes:
        ids: int32 `(listed,)`, ascending.
        weights: Their weights in the final layer, by the names of the graphs' inputs.
        vocab_size: Number of all target ids.
    """

    ids: npt.NDArray[np.int32]
    weights: dict[str, npt.NDArray]
    vocab_size: int

    @property
    def inputs(self) -> dict[str, npt.NDArray]:
        """What a decode step takes beside the places of each sentence."""
        return {IDS: self.ids, **self.weights}

    def spread(self, logits: Values, places: npt.NDArray[np.int32]) -> Values:
        """Returns logits of all ids `(rows, vocab_size)`: -inf where a row's have no place.

        Args:
            logits: Those of each row's own ids, `(rows, most)`.
            places: As in `Listed`; each sentence has equally many rows.
        """
        # What fills up a row goes to a further column.
        found = np.full((len(logits), self.vocab_size + 1), -np.inf, np.float32)
        ids = np.where(places == FILLER, self.vocab_size, self.ids[places])
        np.put_along_axis(found, ids.repeat(len(logits) // len(places), axis=0), logits, axis=1)
        return found[:, :-1]
