"""Makes labelled pairs of plain sentences: each sentence in two halves, and every other time the
second half of another sentence in place of its own.

    python benchmarks/continuations.py train.en.gz continuations.tsv --rows 1000

A line is `next<TAB>first half<TAB>second half`, or begins with `other`. Needs nothing but Python.
"""

import argparse
import gzip
import random
from pathlib import Path


def main() -> None:
    """Writes the file."""
    parser = argparse.ArgumentParser(description="Makes labelled pairs of halves of sentences.")
    parser.add_argument("sentences", type=Path, help="a sentence a line, .gz or plain")
    parser.add_argument("output", type=Path, help="the TSV file to write")
    parser.add_argument("--rows", type=int, help="number of rows; one a sentence if not given")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = pairs(read(options.sentences), random.Random(options.seed))
    lines = ["\t".join(row) for row in rows[: options.rows]]
    options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(path: Path) -> list[list[str]]:
    """Returns the words of each line that can be halved and holds no tab."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as stream:
        sentences = [line.split() for line in stream]
    return [words for words in sentences if len(words) > 3]


def pairs(sentences: list[list[str]], draws: random.Random) -> list[tuple[str, str, str]]:
    """Returns label, first half and second half of each sentence, in a random order.

    A foreign half comes from a sentence of the same number of words where there is another one: its
    length tells nothing.
    """
    alike: dict[int, list[int]] = {}
    for place, words in enumerate(sentences):
        alike.setdefault(len(words), []).append(place)
    rows = []
    for place, words in enumerate(sentences):
        others = [other for other in alike[len(words)] if other != place]
        is_next = draws.random() < 0.5 or not others
        second = words if is_next else sentences[draws.choice(others)]
        middle = len(words) // 2
        halves = " ".join(words[:middle]), " ".join(second[middle:])
        rows.append(("next" if is_next else "other", *halves))
    draws.shuffle(rows)
    return rows


if __name__ == "__main__":
    main()
