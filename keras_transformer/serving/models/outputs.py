"""A model's results as the arrays of an answer, padded to the rows of its own request only, so that
an answer does not depend on what else was in the batch.
"""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, LOWEST
from keras_transformer.search.options import Candidate, Hypothesis, SearchOptions
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models.rows import ANY_BYTES, Request, most_hypotheses
from keras_transformer.translation.results import (
    join_hypotheses,
    pad_states,
    spans_put_back,
    to_hypotheses,
)
from keras_transformer.translation.text_ids import TextIds

Outputs = dict[str, npt.NDArray[Any]]
# A result of a row, with its text where that has spans.
Found = Candidate | Hypothesis

# Most numbers in one array of an answer: as JSON they are about 90 MB.
MOST_NUMBERS = 1 << 22
# More numbers and texts than these take milliseconds to write.
_LARGE = 1 << 14
_MISSING = Hypothesis("", [], LOWEST, LOWEST)


class ResultWriter:
    """Makes arrays from results, with one entry for every row of the request's arrays.

    Args:
        target: Texts and ids of the target side.
        search: The server's search; its `num_hypotheses` and `max_length` are sizes of answers.
        min_score: Log-probability a token below which a translation has low confidence, if known.
        has_flags: Whether answers say which hypotheses have low confidence.
        model_dim: Width of the encoder's states.
    """

    def __init__(
        self,
        *,
        target: TextIds,
        search: SearchOptions,
        min_score: float | None,
        has_flags: bool,
        model_dim: int,
    ) -> None:
        self._target, self._search, self._min_score = target, search, min_score
        self._model_dim, self._has_flags = model_dim, has_flags
        self._writers: dict[str, Callable[[Request, Sequence[Any]], Outputs]] = {
            DEFAULT_SIGNATURE: self._best,
            "translate_with_options": self._best,
            "translate_between": self._best,
            "translate_n_best": self._n_best,
            "translate_sentences": self._sentences,
            "translate_ids": self._ids,
            "score": lambda _, results: scores(results),
            "encode": self._states,
        }

    def write(self, signature_name: str, request: Request, results: Sequence[Any]) -> Outputs:
        """Returns the arrays of a signature's outputs, from a result for each row of a request."""
        return self._writers[signature_name](request, results)

    def hypotheses(
        self, request: Request, results: Sequence[Sequence[Found]]
    ) -> list[list[Hypothesis]]:
        """Returns the translations of each text, best first."""
        return [
            [best, *(one for one in others if one.score > LOWEST)]
            for best, *others in self._joined(request, results)
        ]

    def _best(self, request: Request, results: Sequence[Sequence[Found]]) -> Outputs:
        best = [found[0] for found in self._joined(request, [found[:1] for found in results])]
        texts = [one.text for one in best]
        return {"translation": strings(texts), "score": floats([one.score for one in best])}

    def _n_best(self, request: Request, results: Sequence[Sequence[Found]]) -> Outputs:
        count = most_hypotheses(request.rows, self._search)
        return self._grids(list(self._joined(request, results)), count)

    def _sentences(self, request: Request, results: Sequence[Sequence[Found]]) -> Outputs:
        """Returns the best of each part, in as many columns as the text with the most parts has."""
        found = iter(self._hypotheses([found[:1] for found in results]))
        best = [[next(found)[0] for _ in passage.parts] for passage in request.passages]
        for passage, parts in zip(request.passages, best, strict=True):
            if passage.lift is not None:
                parts[:] = [spans_put_back(passage, *one) for one in enumerate(parts)]
        columns = max(map(len, best), default=0)
        length = max((len(one.ids) for row in best for one in row), default=0)
        check_size({"texts": len(best), "sentences": columns, "tokens": length})
        ids = self._padding(len(best), columns, length)
        for row, own in zip(ids, best, strict=True):
            for line, one in zip(row, own, strict=False):
                line[: len(one.ids)] = one.ids
        sources = [filled(passage.sources, columns, "") for passage in request.passages]
        starts = [filled(passage.starts, columns, -1) for passage in request.passages]
        shape = (len(best), columns)
        return {
            "count": np.array([len(row) for row in best], np.int32),
            "sources": strings([text for row in sources for text in row]).reshape(shape),
            "starts": np.array(starts, np.int32).reshape(shape),
            **self._grids(best, columns),
            "ids": ids,
        }

    def _ids(self, request: Request, results: Sequence[Sequence[Found]]) -> Outputs:
        best = [found[0] for found in results]
        ids = self._padding(len(best), self._search.max_length)
        for row, one in zip(ids, best, strict=True):
            row[: len(one.ids)] = one.ids
        return {"ids": ids, **scores(best)}

    def _padding(self, *shape: int) -> npt.NDArray[np.int32]:
        return np.full(shape, self._target.special_ids.pad, np.int32)

    def _states(self, _: Request, results: Sequence[npt.NDArray[np.float32]]) -> Outputs:
        states, mask = pad_states(results, self._model_dim)
        return {"encoder_states": states, "mask": mask}

    def _joined(
        self, request: Request, results: Sequence[Sequence[Found]]
    ) -> Iterator[list[Hypothesis]]:
        """Yields each text's hypotheses, joined from those of its parts."""
        found = iter(zip(request.rows, self._hypotheses(results), strict=True))
        for passage in request.passages:
            rows, parts = zip(*(next(found) for _ in passage.parts), strict=True)
            yield join_hypotheses(passage, parts, rows[0].adapt(self._search))

    def _hypotheses(self, results: Sequence[Sequence[Found]]) -> list[list[Hypothesis]]:
        return hypotheses_of(results, self._target, self._min_score)

    def _grids(self, rows: Sequence[Sequence[Hypothesis]], columns: int) -> Outputs:
        """Returns texts, scores and flags of hypotheses, each `(rows, columns)`."""
        found = grids("translations", rows, columns)
        if self._has_flags:
            # A missing hypothesis does not count as one of low confidence.
            flags = [[bool(one.low_confidence) for one in row] for row in rows]
            flags = [filled(row, columns, False) for row in flags]
            found["low_confidence"] = np.array(flags, bool).reshape(len(rows), columns)
        return found


def scores(results: Sequence[Candidate | Hypothesis]) -> Outputs:
    """Returns the score and log-probability of each result."""
    return {
        "score": floats([one.score for one in results]),
        "log_probability": floats([one.log_probability for one in results]),
    }


def grids(texts: str, rows: Sequence[Sequence[Hypothesis]], columns: int) -> Outputs:
    """Returns texts, by that name, and scores of hypotheses, each `(rows, columns)`."""
    every = [one for row in rows for one in filled(row, columns, _MISSING)]
    flat: Outputs = {
        texts: strings([one.text for one in every]),
        "scores": floats([one.score for one in every]),
        "log_probabilities": floats([one.log_probability for one in every]),
    }
    return {name: values.reshape(len(rows), columns) for name, values in flat.items()}


def hypotheses_of(
    results: Sequence[Sequence[Found]], target: TextIds, min_score: float | None
) -> list[list[Hypothesis]]:
    """Returns results as hypotheses, which those with spans are already; see `to_hypotheses`."""
    texts = to_hypotheses(results, target, min_score)
    return [
        [had if isinstance(had, Hypothesis) else one for had, one in zip(*pair, strict=True)]
        for pair in zip(results, texts, strict=True)
    ]


async def written(outputs: Outputs, write: Callable[[], Any]) -> Any:
    """Returns the result of `write`, which runs in a thread if the outputs are so large that others
    would wait.
    """
    is_large = sum(array.size for array in outputs.values()) > _LARGE
    return await asyncio.to_thread(write) if is_large else write()


def check_size(sizes: Mapping[str, int]) -> None:
    """Refuses an answer whose array would be too large: each row is as long as the longest.

    Args:
        sizes: The array's sizes by what they count.

    Raises:
        ServingError: It has more than `MOST_NUMBERS`.
    """
    numbers = math.prod(sizes.values())
    if numbers > MOST_NUMBERS:
        factors = " x ".join(f"{size} {name}" for name, size in sizes.items())
        raise ServingError(
            Code.INVALID_ARGUMENT,
            f"the answer would have {factors} = {numbers} numbers, more than the limit of "
            f"{MOST_NUMBERS}: every text takes as many as the longest, so send the longest ones in "
            "requests of their own, or fewer at once.",
        )


def check_states(lengths: Sequence[int], width: int) -> None:
    """Refuses texts of these lengths, in tokens, if their states are too large: `check_size`."""
    check_size({"texts": len(lengths), "tokens": max(lengths, default=0), "values": width})


def filled(row: Sequence[Any], columns: int, filler: Any) -> list[Any]:
    """Returns a row with so many columns."""
    return [*row, *[filler] * (columns - len(row))]


def strings(texts: Sequence[str]) -> npt.NDArray[np.object_]:
    """Returns texts as an array of bytes."""
    return np.array([text.encode(*ANY_BYTES) for text in texts], object)


def floats(values: Sequence[float]) -> npt.NDArray[np.float32]:
    """Returns numbers, minus infinity as the lowest that JSON can write."""
    return np.array([max(value, LOWEST) for value in values], np.float32)
