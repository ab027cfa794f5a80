"""The child's side of a measuring process for decoders: what `generate.py` asks of an engine.

Standard library only: an engine may run in another environment's interpreter.
"""

import abc
import json
from pathlib import Path
from typing import Any

from peers import HUGGING_FACE
from speed.serving import timed

# A sampled token is one of this many, as in GPT-2's paper.
TOP_K = 40
BEAMS = 4
GREEDY, SAMPLED, BEAM = SEARCHES = ("greedy", "sampled", f"beam{BEAMS}")


class GenerationEngine(abc.ABC):
    """Something that continues prompts; subclasses wrap one library each."""

    @abc.abstractmethod
    def load(self, folder: str, precision: str) -> None:
        """Opens a model in place of the one before.

        Args:
            folder: From `artefacts.make`.
            precision: One of `peers.PRECISIONS`.
        """

    @abc.abstractmethod
    def prepare(self, prompts: list[list[int]]) -> Any:
        """Turns ids without the decoder's start into what `run` takes; not timed."""

    @abc.abstractmethod
    def run(self, prepared: Any, length: int, search: str) -> Any:
        """Generates exactly `length` tokens after each prompt; timed.

        Args:
            prepared: From `prepare`.
            length: New tokens.
            search: One of `SEARCHES`: the most probable token each time, one drawn among the
                `TOP_K` most probable, or the best of `BEAMS` beams.
        """

    @abc.abstractmethod
    def to_ids(self, result: Any) -> list[list[int]]:
        """Returns the new ids for each row of `run`'s result; not timed."""

    def nats(self, rows: list[list[int]]) -> float:
        """Returns the negative log-probability of all rows' ids, each row behind the start."""
        raise NotImplementedError(f"{type(self).__name__} tells no probabilities.")

    def generate(self, prompts: list[list[int]], length: int, search: str) -> list[list[int]]:
        """Returns the new ids of each prompt's continuation."""
        return self.to_ids(self.run(self.prepare(prompts), length, search))

    def measure(
        self, prompts: list[list[int]], length: int, search: str, times: int
    ) -> dict[str, float]:
        """Returns the mean "seconds" and "cpu_seconds" of one run among `times` in a row.

        CPU seconds are those of all the process's threads.
        """
        prepared = self.prepare(prompts)
        return timed(lambda: self.run(prepared, length, search), times)


def start_id(folder: str) -> int:
    """Returns the id that all prompts begin with, of the model in a folder of `artefacts.make`."""
    path = Path(folder) / HUGGING_FACE / "config.json"
    return json.loads(path.read_text(encoding="utf-8"))["bos_token_id"]
