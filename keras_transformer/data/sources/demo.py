"""The demo corpus: 40,000 English sentences with their Spanish translations, shipped as a file.

A grammar made them once; the file is all that is left of it, so that figures stay comparable.
"""

import gzip
from importlib.resources import files
from random import Random

from keras_transformer.data.sources.corpus import Corpus, Pairs

SMALLEST = 100
LARGEST = 40_000
FILE = "demo_corpus.tsv.gz"
_LARGEST_HELD_OUT = 500

Row = tuple[str, ...]


def demo_corpus(size: int = LARGEST, seed: int = 0) -> Corpus:
    """Return English sentences with their Spanish translations.

    Every English sentence occurs once and its text determines its only translation: "you" is always
    "tú", "they" is "ellos", a speaker whose sex is unknown is masculine. The validation and test
    splits share no sentence with the training split, neither English nor Spanish.
    The same size and seed give the same corpus on every machine.

    Args:
        size: Number of pairs in the three splits together, 100 to 40,000. Validation and test
            hold a twentieth each, at most 500.
        seed: Chooses the pairs of a smaller corpus and the order of the training split; 0 keeps
            the order of the file.

    Raises:
        TypeError: `size` or `seed` is not an integer.
        ValueError: `size` is out of range.

    Example:
        >>> corpus = demo_corpus(size=1_000)
        >>> len(corpus.train), len(corpus.valid), len(corpus.test)
        (900, 50, 50)
        >>> corpus.train.target[corpus.train.source.index("Hello, how are you?")]
        'Hola, ¿cómo estás?'
    """
    for name, value in (("size", size), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"{name} must be an integer, got {type(value).__name__}.")
    if not SMALLEST <= size <= LARGEST:
        raise ValueError(
            f"size must be between {SMALLEST} and {LARGEST} pairs, got {size}. For more sentences "
            "read text from files."
        )
    rows = _rows()
    if seed:
        Random(seed).shuffle(rows)
    held_out = min(size // 20, _LARGEST_HELD_OUT)
    phrases = _part(rows, "phrase")[: size // 4]
    generated = _part(rows, "train")[: size - len(phrases) - 2 * held_out]
    # A filter keeps the order of the file, in which phrases and generated sentences are mixed.
    chosen = {*phrases, *generated}
    origin = f"demo corpus, size {size}, seed {seed}"
    return Corpus(
        train=_pairs([row for row in rows if row in chosen], f"{origin}, train"),
        valid=_pairs(_part(rows, "valid")[:held_out], f"{origin}, valid"),
        test=_pairs(_part(rows, "test")[:held_out], f"{origin}, test"),
    )


def _rows() -> list[Row]:
    """Return the part, the English and the Spanish sentence of each line of the file."""
    packed = files("keras_transformer.data.sources").joinpath(FILE).read_bytes()
    return [tuple(line.split("\t")) for line in gzip.decompress(packed).decode().splitlines()]


def _part(rows: list[Row], part: str) -> list[Row]:
    return [row for row in rows if row[0] == part]


def _pairs(rows: list[Row], origin: str) -> Pairs:
    return Pairs([source for _, source, _ in rows], [target for _, _, target in rows], origin)
