"""A batch's shortlist in the form that the decoder's graphs read: ids, their gathered weights, and
logits of all ids made of those on the list.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.shortlist import FILLER
from keras_transformer.runtime.loop.requests import Values

IDS, PLACES, WEIGHTS = "shortlist_ids", "shortlist_places", "shortlist_weights"


class BatchShortlist:
    """The ids of a batch.

    Args:
        ids: int32 `(listed,)`, ascending.
        vocab_size: Number of all target ids.
        gather: Returns the ids' weights in the final layer, `(listed, width)`; called when they are
            first needed, as not every graph takes them.
    """

    def __init__(
        self, ids: npt.NDArray[np.int32], vocab_size: int, gather: Callable[[], npt.NDArray]
    ) -> None:
        self.ids = ids
        self._vocab_size = vocab_size
        self._gather = gather

    @cached_property
    def weights(self) -> npt.NDArray:
        """The ids' weights."""
        return self._gather()

    def spread(self, logits: Values, places: npt.NDArray[np.int32]) -> Values:
        """Returns logits of all ids `(rows, vocab_size)`: -inf where a row's have no place.

        Args:
            logits: Those of each row's own ids, `(rows, most)`.
            places: As in `Listed`; each sentence has equally many rows.
        """
        # What fills up a row goes to a further column.
        found = np.full((len(logits), self._vocab_size + 1), -np.inf, np.float32)
        ids = np.where(places == FILLER, self._vocab_size, self.ids[places])
        np.put_along_axis(found, ids.repeat(len(logits) // len(places), axis=0), logits, axis=1)
        return found[:, :-1]
