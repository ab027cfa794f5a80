"""Writes the demo corpus, or a larger one, to a compressed file of lines.

    python -m tools.demo_corpus keras_transformer/data/sources/demo_corpus.tsv.gz
    python -m tools.demo_corpus --pairs 100000 --seed 1 larger.tsv.gz

Each line holds the part of the corpus ("phrase", "train", "valid" or "test"), the English sentence
and the Spanish one, separated by tabs.
"""

import argparse
import gzip
from pathlib import Path

from tools.demo_corpus import HELD_OUT, PAIRS, SEED, demo_lines
from tools.demo_corpus.phrases import PHRASES


def main() -> None:
    """Write the file; the same arguments give the same bytes with the same zlib."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path, help="file to write, .tsv.gz")
    parser.add_argument(
        "--pairs", type=int, default=PAIRS, help="lines in all (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    least = len(PHRASES) + 2 * HELD_OUT + 1
    if arguments.pairs < least:
        parser.error(f"--pairs must be at least {least}, got {arguments.pairs}")
    text = "\n".join(demo_lines(arguments.pairs, arguments.seed)) + "\n"
    # No time stamp: the bytes depend on nothing but the arguments.
    arguments.output.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
