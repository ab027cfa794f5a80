"""The texts that oracles of translators read: sentences of the demo corpus, and hostile strings."""

import gzip
import itertools
import random
from pathlib import Path

_SOURCES = Path(__file__).parents[2] / "keras_transformer" / "data" / "sources"
# What tokenizers differ on: cases, spaces, scripts, compositions and signs. Not how special tokens
# are spelled: theirs read "</s>" in a text as the end of it, ours as text.
_ALPHABET = [
    *"abcXYZ .,;'\"-0159",
    *"äßñçÉΩжяمש中日한ไठ",
    *"…“”«»–—€™½ﬁⅣ①",
    "e\u0301",
    "\u00a0",
    "\u200b",
    "\u3000",
    "\ufeff",
    "\t",
    "👍",
    "👨\u200d👩\u200d👧",
    "<",
    ">",
    "▁",
    "  ",
]


def pairs(count: int, start: int = 0) -> tuple[list[str], list[str]]:
    """Returns English sentences and their Spanish translations."""
    with gzip.open(_SOURCES / "demo_corpus.tsv.gz", "rt", encoding="utf-8") as file:
        lines = itertools.islice(file, start, start + count)
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return [row[1] for row in rows], [row[2] for row in rows]


def many_strings(count: int) -> list[str]:
    """Returns hostile strings and as many sentences."""
    return [*hostile(count // 2), *pairs(count - count // 2)[0]]


def hostile(count: int) -> list[str]:
    """Returns strings that look like no text; the same ones each time."""
    draw = random.Random(0)  # noqa: S311 - no secret
    return ["".join(draw.choices(_ALPHABET, k=draw.randint(1, 12))) for _ in range(count)]
