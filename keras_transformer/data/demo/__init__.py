"""The embedded demo corpus: English and Spanish sentences made by a small grammar, no file needed.

A size and a seed come in, a `Corpus` with training, validation and test split leaves.
"""

from random import Random

from keras_transformer.data.corpus import Corpus, Pairs
from keras_transformer.data.demo.grammar import random_sentence
from keras_transformer.data.demo.phrases import PHRASES

SMALLEST = 100
LARGEST = 200_000
_LARGEST_HELD_OUT = 500


def demo_corpus(size: int = 40_000, seed: int = 0) -> Corpus:
    """Return English sentences with their Spanish translations.

    Every English sentence is there once and has exactly one translation that its text determines:
    "you" is always "tú", "they" is "ellos", a speaker whose sex is unknown is masculine. The
    validation and the test split share no sentence with training, neither English nor Spanish.
    The same size and seed give the same corpus on every machine.

    Args:
        size: number of pairs in the three splits together, 100 to 200,000. Validation and test
            hold a twentieth each, at most 500.
        seed: of the generator that draws the sentences.

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
            f"size must be between {SMALLEST} and {LARGEST} pairs, got {size}. Beyond that most "
            "sentences would be repeats; read longer text from files."
        )
    rng = Random(seed)
    held_out = min(size // 20, _LARGEST_HELD_OUT)
    phrases = PHRASES[: size // 4]
    generated = _distinct_pairs(rng, size - len(phrases))
    train = [*phrases, *generated[2 * held_out :]]
    rng.shuffle(train)
    origin = f"demo corpus, size {size}, seed {seed}"
    return Corpus(
        train=_pairs(train, f"{origin}, train"),
        valid=_pairs(generated[:held_out], f"{origin}, valid"),
        test=_pairs(generated[held_out : 2 * held_out], f"{origin}, test"),
    )


def _distinct_pairs(rng: Random, count: int) -> list[tuple[str, str]]:
    """Draw pairs until `count` are new on both sides, which keeps the splits apart on both."""
    sources = {english for english, _ in PHRASES}
    targets = {spanish for _, spanish in PHRASES}
    pairs: list[tuple[str, str]] = []
    while len(pairs) < count:
        english, spanish = random_sentence(rng)
        if english not in sources and spanish not in targets:
            sources.add(english)
            targets.add(spanish)
            pairs.append((english, spanish))
    return pairs


def _pairs(pairs: list[tuple[str, str]], origin: str) -> Pairs:
    return Pairs([pair[0] for pair in pairs], [pair[1] for pair in pairs], origin)
