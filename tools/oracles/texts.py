"""The texts that oracles of translators read: sentences of the demo corpus, and hostile strings."""

import gzip
import random
from pathlib import Path

_CORPUS = Path(__file__).parents[2] / "keras_transformer" / "data" / "sources" / "demo_corpus.tsv.gz"
# What tokenizers differ on: cases, spaces, scripts, compositions, signs and their own marks.
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
    "<unk>",
    "</s>",
    "<pad>",
    "<s>",
    ">>",
    "<<",
    "▁",
    "  ",
]


def pairs(count: int, start: int = 0) -> tuple[list[str], list[str]]:
    """Returns English sentences and their Spanish translations."""
    with gzip.open(_CORPUS, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for _, line in zip(range(start + count), file)]
    return [row[0] for row in rows[start:]], [row[1] for row in rows[start:]]


def hostile(count: int) -> list[str]:
    """Returns strings that look like no text; the same ones each time."""
    draw = random.Random(0)  # noqa: S311 - no secret
    return ["".join(draw.choices(_ALPHABET, k=draw.randint(1, 12))) for _ in range(count)]
