"""Our runtime as its users run it: `OnnxTranslator` with its defaults."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer.export import OnnxTranslator

from .. import artefacts
from ..serving import Engine, serve


class OurEngine(Engine):
    """`OnnxTranslator`.

    Args:
        target: Of the artefacts that are measured.
        threads: As it chooses them if None.
    """

    def __init__(self, target: str, threads: int | None = None) -> None:
        self._target, self._threads = target, threads

    def load(self, folder: str, precision: str) -> None:
        """Opens our artefact; the one before is freed first."""
        self._translator: Any = None
        directory = Path(folder) / artefacts.ours(precision, self._target)
        self._translator = OnnxTranslator(directory, self._threads)

    def prepare(self, rows: list[list[int]]) -> list[list[int]]:
        """Returns the rows: ids are what it takes."""
        return rows

    def run(self, prepared: Any, beam_size: int, length: int | None) -> Any:
        """Translates with forced lengths, or with CTranslate2's definition of search."""
        lengths: dict[str, Any] = {"min_length": length, "max_length": length}
        if length is None:
            lengths = {"min_length": 1, "max_length": 256, "early_stopping": "first"}
        return self._translator.translate_ids(
            prepared,
            beam_size=beam_size,
            length_penalty_type="exponent",
            length_penalty=1.0,
            return_scores=False,
            **lengths,
        )

    def to_ids(self, result: Any) -> list[list[int]]:
        """Returns the best hypothesis of each row."""
        return [list(map(int, hypotheses[0].ids)) for hypotheses in result]

    def translate(self, texts: Sequence[str], beam_size: int) -> list[str]:
        """Translates texts with CTranslate2's definition of search."""
        return self._translator.translate(
            texts,
            beam_size=beam_size,
            length_penalty_type="exponent",
            length_penalty=1.0,
            early_stopping="first",
            min_length=1,
            max_length=256,
        )


if __name__ == "__main__":
    serve(OurEngine(sys.argv[1], *map(int, sys.argv[2:])))
