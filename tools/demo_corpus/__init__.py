"""The grammar that makes the demo corpus: English sentences with their Spanish translations.

Takes a number of pairs and a seed and returns distinct pairs, in the four parts of the package's
file.
"""

from collections.abc import Iterator
from itertools import islice
from random import Random

from tools.demo_corpus.grammar import random_sentence
from tools.demo_corpus.phrases import PHRASES

# What the package ships, and how many of its pairs are held out for validation and for test each.
PAIRS = 40_000
SEED = 0
HELD_OUT = 500


def distinct_pairs(rng: Random) -> Iterator[tuple[str, str]]:
    """Yield sentence pairs without end, none of whose sides occurred before on its side.

    Fixed phrases count as seen, so that no split shares a sentence with another one. Beyond about
    200,000 pairs most sentences are repeats and drawing becomes slow.
    """
    sources = {english for english, _ in PHRASES}
    targets = {spanish for _, spanish in PHRASES}
    while True:
        english, spanish = random_sentence(rng)
        if english not in sources and spanish not in targets:
            sources.add(english)
            targets.add(spanish)
            yield english, spanish


def demo_lines(pairs: int = PAIRS, seed: int = SEED) -> list[str]:
    """Return the lines of a demo corpus: part, English and Spanish, separated by tabs.

    The parts are "phrase" (fixed phrases to train on), "train", "valid" and "test". Training lines
    stand in the order to train on. The same arguments give the same lines on every machine.

    Args:
        pairs: Number of lines; at least the phrases and twice `HELD_OUT`.
        seed: Of the generator that draws the sentences and their order.
    """
    rng = Random(seed)
    generated = list(islice(distinct_pairs(rng), pairs - len(PHRASES)))
    valid, test, train = (
        generated[:HELD_OUT],
        generated[HELD_OUT : 2 * HELD_OUT],
        generated[2 * HELD_OUT :],
    )
    training = [*(("phrase", *pair) for pair in PHRASES), *(("train", *pair) for pair in train)]
    rng.shuffle(training)
    held_out = [*(("valid", *pair) for pair in valid), *(("test", *pair) for pair in test)]
    return ["\t".join(row) for row in (*training, *held_out)]
