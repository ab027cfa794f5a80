"""The teacher's translations of the training sources (Kim and Rush 2016, section 3.2): written in
shards as they are made, so that a killed job continues and several processes can share it.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_transformer.translation.translator import TextTranslator
from keras_transformer.whole_files import remove_partials, write_text


@dataclass(frozen=True)
class Translations:
    """The shards of a job: files of JSON, each with what made it and its lines' hypotheses.

    Attributes:
        directory: Holds the shards and nothing else.
        sources: The lines to translate.
        made_by: What decides the translations, as JSON holds it: teacher, search, digest of the
            sources, lines a shard. Shards with another one are refused.
        shard_lines: Lines of a shard; the last one may have fewer.
    """

    directory: Path
    sources: Sequence[str]
    made_by: dict[str, Any]
    shard_lines: int

    def __len__(self) -> int:
        """Returns the number of shards."""
        return -(-len(self.sources) // self.shard_lines)

    def missing(self) -> list[int]:
        """Returns the numbers of the shards that have not been made.

        Raises:
            ValueError: A shard was made by something else, or is damaged.
        """
        there = set(self.directory.glob("[0-9]*.json"))
        for path in sorted(there):
            self._read(path)
        return [number for number in range(len(self)) if self._path(number) not in there]

    def make(
        self,
        numbers: Sequence[int],
        translator: TextTranslator,
        search: dict[str, Any],
        say: Callable[[str], None] = print,
    ) -> None:
        """Translates shards, and writes each as soon as it is complete.

        Args:
            numbers: The shards.
            translator: The teacher.
            search: Fields of `SearchOptions`.
            say: Takes a line of progress at the beginning and after each shard.

        Raises:
            OSError: A shard cannot be written.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        lines = sum(len(self._lines(number)) for number in numbers)
        say(f"translating {lines:,} lines, {min(lines, self.shard_lines):,} at a time")
        pace = _Pace(lines)
        for number in numbers:
            found = _hypotheses(translator, self._lines(number), search)
            content = {"made_by": self.made_by, "translations": found}
            write_text(self._path(number), json.dumps(content, ensure_ascii=False))
            say(f"shard {number + 1} of {len(self)}: {pace.after(len(found))}")
        # Not earlier: another process that shares the work may be writing one of them.
        if all(self._path(number).exists() for number in range(len(self))):
            remove_partials(self.directory)

    def read(self) -> list[list[str]]:
        """Returns each line's hypotheses, best first; none for a line too long for the teacher.

        Raises:
            FileNotFoundError: A shard is missing.
            ValueError: A shard was made by something else, or is damaged.
        """
        return [texts for number in range(len(self)) for texts in self._read(self._path(number))]

    def _lines(self, number: int) -> Sequence[str]:
        return self.sources[number * self.shard_lines : (number + 1) * self.shard_lines]

    def _path(self, number: int) -> Path:
        return self.directory / f"{number:05d}-of-{len(self):05d}.json"

    def _read(self, path: Path) -> list[list[str]]:
        try:
            number = int(path.name.partition("-")[0])
            content = json.loads(path.read_text(encoding="utf-8"))
            made_by, translations = dict(content["made_by"]), content["translations"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} is damaged ({error}): delete it to make it again.") from error
        now = json.loads(json.dumps(self.made_by))
        changed = [name for name in now if made_by.get(name) != now[name]]
        if changed:
            name = changed[0]
            raise ValueError(
                f"{path} was made with {name}={made_by.get(name)!r}, not {now[name]!r}: give what "
                f"it was made with, or delete {path.parent} to translate again."
            )
        lines = len(self._lines(number))
        if not _is_of_lines(translations, lines):
            raise ValueError(
                f"{path} is damaged (it must have a list of texts for each of {lines} lines): "
                "delete it to make it again."
            )
        return translations


def check_share(share: str) -> tuple[int, int]:
    """Reads "I/N", the I-th of N processes, counted from 1.

    Raises:
        ValueError: It is not of this form.
    """
    part, slash, count = share.partition("/")
    if not (slash and part.isdecimal() and count.isdecimal() and 1 <= int(part) <= int(count)):
        raise ValueError(f"shard must be I/N with I from 1 to N, such as 2/4, got {share!r}.")
    return int(part), int(count)


def share_of(numbers: Sequence[int], share: str) -> list[int]:
    """Returns those of some shards that one of several processes makes.

    Args:
        numbers: The shards, such as those that are missing.
        share: "I/N": the shards I, I + N, I + 2N and so on, counted from 1, are this process's.

    Raises:
        ValueError: `share` is not of this form.
    """
    part, count = check_share(share)
    return [number for number in numbers if number % count == part - 1]


def _is_of_lines(translations: Any, lines: int) -> bool:
    """Returns whether a shard's translations are a list of texts for each of so many lines."""
    return (
        isinstance(translations, list)
        and len(translations) == lines
        and all(isinstance(texts, list) for texts in translations)
        and all(isinstance(text, str) for texts in translations for text in texts)
    )


def _hypotheses(
    translator: TextTranslator, lines: Sequence[str], search: dict[str, Any]
) -> list[list[str]]:
    limit = translator.max_source_length
    lengths = translator.source_lengths(lines)
    kept = [place for place, length in enumerate(lengths) if limit is None or length <= limit]
    found: list[list[str]] = [[] for _ in lines]
    best = translator.translate_n_best([lines[place] for place in kept], **search)
    for place, hypotheses in zip(kept, best, strict=True):
        # Different pieces may be one text.
        found[place] = list(dict.fromkeys(one.text for one in hypotheses if one.text))
    return found


class _Pace:
    """Says how fast lines are translated, and how long the rest will take."""

    def __init__(self, lines: int) -> None:
        self._lines, self._done, self._began = lines, 0, time.monotonic()

    def after(self, lines: int) -> str:
        """Counts more lines; returns the state of the job."""
        self._done += lines
        rate = self._done / max(time.monotonic() - self._began, 1e-9)
        minutes, seconds = divmod(round((self._lines - self._done) / rate), 60)
        return (
            f"{self._done:,} of {self._lines:,} lines, {rate:,.0f} a second, "
            f"{minutes} min {seconds} s left"
        )
