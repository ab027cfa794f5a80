"""The child's side of a measuring process: reads requests as lines of JSON, has an engine answer.

Standard library only: an engine may run in another environment's interpreter.
"""

import abc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any


class Engine(abc.ABC):
    """Something that translates ids; subclasses wrap one library each."""

    @abc.abstractmethod
    def load(self, folder: str, precision: str) -> None:
        """Opens a model in place of the one before.

        Args:
            folder: From `artefacts.size_folder` or `artefacts.run_folder`.
            precision: "float32" or "int8".
        """

    @abc.abstractmethod
    def prepare(self, rows: list[list[int]]) -> Any:
        """Turns ids without eos into what `run` takes; not timed."""

    @abc.abstractmethod
    def run(self, prepared: Any, beam_size: int, length: int | None) -> Any:
        """Translates into exactly `length` tokens each, or as many as the model says; timed."""

    @abc.abstractmethod
    def to_ids(self, result: Any) -> list[list[int]]:
        """Returns the best translation's ids for each row of `run`'s result; not timed."""

    def decode(self, rows: list[list[int]], beam_size: int, length: int | None) -> list[list[int]]:
        """Returns the translations' ids."""
        return self.to_ids(self.run(self.prepare(rows), beam_size, length))

    def measure(
        self, rows: list[list[int]], beam_size: int, length: int | None, times: int
    ) -> dict[str, float]:
        """Returns `timed`'s seconds of one translation of all rows."""
        prepared = self.prepare(rows)
        return timed(lambda: self.run(prepared, beam_size, length), times)

    def translate(self, texts: Sequence[str], beam_size: int) -> list[str]:
        """Translates texts, which end where the model ends them."""
        raise NotImplementedError(f"{type(self).__name__} translates no texts.")

    def measure_texts(self, texts: list[str], beam_size: int, batch: int | None = None) -> float:
        """Returns the seconds of one translation of all texts, tokenizing included.

        Args:
            texts: The texts.
            beam_size: Of the search.
            batch: Texts a call; all at once if None.
        """
        size = batch or len(texts)
        start = time.perf_counter()
        for first in range(0, len(texts), size):
            self.translate(texts[first : first + size], beam_size)
        return time.perf_counter() - start


def timed(work: Callable[[], object], times: int) -> dict[str, float]:
    """Returns the mean "seconds" and "cpu_seconds" of a piece of work among `times` in a row.

    CPU seconds are those of all the process's threads.
    """
    cpu, start = time.process_time(), time.perf_counter()
    for _ in range(times):
        work()
    return {
        "seconds": (time.perf_counter() - start) / times,
        "cpu_seconds": (time.process_time() - cpu) / times,
    }


def serve(engine: object) -> None:
    """Answers requests until the input ends: {"do": a method's name, "with": its arguments}."""
    # Libraries may print what they like: only answers reach the parent.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"result": getattr(engine, request["do"])(**request["with"])}
        except Exception:
            answer = {"error": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
