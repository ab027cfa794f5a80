"""From a model's results to a request's arrays, each padded to the rows of its own request, so that
an answer does not depend on what else was in the batch.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..runtime.batches import pad_states
from ..runtime.requests import Candidate
from .signatures import DEFAULT_SIGNATURE

Outputs = dict[str, npt.NDArray[Any]]
ToText = Callable[[list[Sequence[int]]], list[str]]

# Stands where a hypothesis is missing: JSON has no infinity.
LOWEST = float(np.finfo(np.float32).min)
_MISSING = Candidate([], LOWEST, LOWEST)


class ResultWriter:
    """Makes arrays of results, one of each for every row.

    Args:
        to_text: SentencePiece's decoder of the target side, ids to texts.
        num_hypotheses: Hypotheses in an answer of `translate_n_best`.
        max_length: Width of the answer of `translate_ids`.
        model_dim: Width of the encoder's states.
    """

    def __init__(
        self, *, to_text: ToText, num_hypotheses: int, max_length: int, model_dim: int
    ) -> None:
        self._to_text, self._count = to_text, num_hypotheses
        self._max_length, self._model_dim = max_length, model_dim
        self._writers: dict[str, Callable[[Sequence[Any]], Outputs]] = {
            DEFAULT_SIGNATURE: self._best,
            "translate_with_options": self._best,
            "translate_n_best": self._n_best,
            "translate_ids": self._ids,
            "score": self._scores,
            "encode": self._states,
        }

    def write(self, signature_name: str, results: Sequence[Any]) -> Outputs:
        """Returns the arrays of a signature's outputs."""
        return self._writers[signature_name](results)

    def _best(self, results: Sequence[list[Candidate]]) -> Outputs:
        best = [found[0] for found in results]
        texts = self._to_text([one.ids for one in best])
        return {"translation": _strings(texts), "score": _floats([one.score for one in best])}

    def _n_best(self, results: Sequence[list[Candidate]]) -> Outputs:
        shape = (len(results), self._count)
        flat = [
            found[rank] if rank < len(found) else _MISSING
            for found in results
            for rank in range(self._count)
        ]
        return {
            "translations": _strings(self._to_text([one.ids for one in flat])).reshape(shape),
            "scores": _floats([one.score for one in flat]).reshape(shape),
            "log_probabilities": _floats([one.log_probability for one in flat]).reshape(shape),
        }

    def _ids(self, results: Sequence[list[Candidate]]) -> Outputs:
        best = [found[0] for found in results]
        ids = np.zeros((len(best), self._max_length), np.int32)
        for row, one in zip(ids, best, strict=True):
            row[: len(one.ids)] = one.ids
        return {
            "ids": ids,
            "score": _floats([one.score for one in best]),
            "log_probability": _floats([one.log_probability for one in best]),
        }

    def _scores(self, results: Sequence[tuple[float, float]]) -> Outputs:
        return {
            "score": _floats([score for score, _ in results]),
            "log_probability": _floats([total for _, total in results]),
        }

    def _states(self, results: Sequence[npt.NDArray[np.float32]]) -> Outputs:
        states, mask = pad_states(results, self._model_dim)
        return {"encoder_states": states, "mask": mask}


def _strings(texts: Sequence[str]) -> npt.NDArray[np.object_]:
    return np.array([text.encode() for text in texts], object)


def _floats(values: Sequence[float]) -> npt.NDArray[np.float32]:
    return np.array([max(value, LOWEST) for value in values], np.float32)
