"""The corpora of the table, a row each, from the folder of the two sources of text."""

import gzip
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Literal

Metric = Literal["exact match", "BLEU", "accuracy", "perplexity"]
Line = tuple[str, ...]

_SEED = 48
_TOPICS = 10
# Translations that a seed moves by a tenth.
_FEW = 1000
# Labelled texts that no row learns from, nor its BERT.
_MORE_TESTED = 2000
_MONTHS = (
    "January February March April May June July August September October November December".split()
)


@dataclass(frozen=True)
class Row:
    """A corpus and a task.

    Attributes:
        name: What the table calls it.
        task: As `--task` takes it.
        metric: What is measured on the test set; perplexity is that of a word.
        train: Training lines: source and target, label and text, or a text alone.
        valid: Validation lines.
        test: Those that are measured.
        start: What the weights begin as: nothing, or the BERT that the benchmark trains on text
            without labels, of which all weights or a low-rank product learn.
    """

    name: str
    task: Literal["translation", "classify", "causal-lm"]
    metric: Metric
    train: list[Line]
    valid: list[Line]
    test: list[Line]
    start: Literal["scratch", "BERT", "BERT, LoRA"] = "scratch"

    @property
    def seeds(self) -> range:
        """Those whose mean counts: where labels are learnt, or a few pairs, runs differ by their
        seed alone.
        """
        is_few = self.task == "translation" and len(self.train) < _FEW
        return range(3 if is_few or self.task == "classify" else 1)


def rows(data: Path) -> Iterator[Row]:
    """Yields the rows of at most 6,000 examples.

    Args:
        data: Folder that holds `multi30k_en_de` and `localisation_en_de`.
    """
    yield _dates(5000)
    pairs = captions(data)
    shown = {part: messages(data, part) for part in _PARTS}
    for count in (300, 3000):
        parts = {part: _head(lines, part, count) for part, lines in pairs.items()}
        yield Row(f"captions {count:,}", "translation", "BLEU", **parts)
    parts = {part: _head([line[:2] for line in shown[part]], part, 3000) for part in _PARTS}
    yield Row("messages 3,000", "translation", "BLEU", **parts)
    for count in (300, 3000):
        parts = {part: _head([line[:1] for line in pairs[part]], part, count) for part in _PARTS}
        yield Row(f"captions {count:,}, causal-lm", "causal-lm", "perplexity", **parts)
    for subject, lines in {"language": _languages(shown), "topic": _topics(shown)}.items():
        for count in (60, 600, 6000):
            parts = {part: _head(lines[part], part, count) for part in _PARTS}
            parts["test"] += lines["train"][-_MORE_TESTED:]
            for start in ("scratch", "BERT", "BERT, LoRA"):
                name = f"{subject} {count:,}, {start}"
                yield Row(name, "classify", "accuracy", **parts, start=start)


def unlabelled(data: Path) -> list[str]:
    """Returns the texts that the BERT of the rows learns from, of both languages."""
    lines = messages(data, "train")[20_000:50_000]
    return [text for line in lines for text in line[:2]]


_PARTS = ("train", "valid", "test")


def _head(lines: list[Line], part: str, count: int) -> list[Line]:
    """Returns as many lines as a user with so many examples would have."""
    most = {"train": count, "valid": max(20, min(500, count // 5)), "test": 500}[part]
    return lines[:most]


def _dates(count: int) -> Row:
    """Dates as people write them, and as ISO 8601 has them."""
    draw = random.Random(_SEED)
    pairs: dict[str, str] = {}
    while len(pairs) < count + 1000:
        day = date(1950, 1, 1) + timedelta(days=draw.randrange(30_000))
        month, short = _MONTHS[day.month - 1], _MONTHS[day.month - 1][:3]
        last = day.day % 10 if day.day not in (11, 12, 13) else 0
        ordinal = f"{day.day}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(last, 'th') }"
        written = draw.choice(
            (
                f"{day.day} {month} {day.year}",
                f"{month} {ordinal}, {day.year}",
                f"{short} {day.day}, {day.year}",
                f"{day:%A}, {day.day} {short}. {day.year}",
                f"the {ordinal} of {month} {day.year}",
                f"{day.day}.{day.month}.{day.year}",
                f"{day.month}/{day.day}/{day.year}",
                f"{day.day}-{short.upper()}-{day.year % 100:02}"
                if day.year < 2000
                else f"{day.year}.{day.month}.{day.day}",
            )
        )
        pairs[written] = day.isoformat()
    lines = list(pairs.items())
    return Row(
        f"dates {count:,}",
        "translation",
        "exact match",
        lines[1000:],
        lines[:500],
        lines[500:1000],
    )


def captions(data: Path) -> dict[str, list[Line]]:
    """Returns the captions of each part, in English and German."""
    folder = data / "multi30k_en_de"
    files = {"train": "train", "valid": "val", "test": "test_2016_flickr"}
    return {
        part: list(
            zip(*(_read(folder / f"{file}.{side}.gz") for side in ("en", "de")), strict=True)
        )
        for part, file in files.items()
    }


def messages(data: Path, part: str) -> list[Line]:
    """Returns source, target and program of each message, in an order of their own."""
    path = data / "localisation_en_de" / f"{part}.tsv.gz"
    lines = [tuple(line.split("\t")) for line in _read(path)]
    random.Random(_SEED).shuffle(lines)
    return lines


def _languages(messages: dict[str, list[Line]]) -> dict[str, list[Line]]:
    """Messages, half of them in German, with their language."""
    return {
        part: [
            (("en", "de")[number % 2], line[number % 2])
            for number, line in enumerate(lines)
            if line[0] != line[1]
        ]
        for part, lines in messages.items()
    }


def _topics(messages: dict[str, list[Line]]) -> dict[str, list[Line]]:
    """English messages of the programs that have most, with their program."""
    programs = Counter(line[2] for line in messages["train"])
    names = {name for name, _ in programs.most_common(_TOPICS)}
    return {
        part: [(line[2], line[0]) for line in lines if line[2] in names]
        for part, lines in messages.items()
    }


def _read(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").rstrip("\n").split("\n")
