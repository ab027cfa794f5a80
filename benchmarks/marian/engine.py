"""The child's side of a measuring process: what `beside_bergamot.py` asks of an engine.

Standard library only: an engine may run in another environment's interpreter.
"""

import abc
from typing import NamedTuple

from speed.serving import timed


class Setting(NamedTuple):
    """How to translate.

    Attributes:
        listed: Whether a shortlist is used.
        beam_size: Of the search.
        ratio: Most target tokens for each source token; random weights end no sentence before.
    """

    listed: bool
    beam_size: int
    ratio: float


class TextEngine(abc.ABC):
    """Something that translates texts on one thread; subclasses wrap one library each."""

    @abc.abstractmethod
    def load(self, folder: str, setting: list) -> None:
        """Opens a model in place of the one before.

        Args:
            folder: Of `model.Model`.
            setting: The fields of a `Setting`.
        """

    @abc.abstractmethod
    def run(self, texts: list[str]) -> list[str]:
        """Translates texts; the engine forms its batches itself."""

    def translate(self, texts: list[str], batch: int) -> list[str]:
        """Translates so many texts a call."""
        return [
            found
            for first in range(0, len(texts), batch)
            for found in self.run(texts[first : first + batch])
        ]

    def measure(self, texts: list[str], batch: int, times: int) -> dict:
        """Returns the mean "seconds" and "cpu_seconds", the latter of all threads."""
        return timed(lambda: self.translate(texts, batch), times)
