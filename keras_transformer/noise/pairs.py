"""Noise in shares of parallel text, drawn from a seed: before text becomes ids, so that a resumed
run draws the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise
from random import Random
from typing import Any

from keras_transformer.markup.lifting import lifter
from keras_transformer.markup.profiles import Profile
from keras_transformer.noise.kinds import KINDS
from keras_transformer.suggestions import did_you_mean
from keras_transformer.text.subwords.slots import masked, unmasked

MERGED = "merged"
NAMES = (MERGED, *KINDS)
# Those that the trainers of browsers' translators publish.
DEFAULT = {"punctuation": 0.2, "typos": 0.05, "title": 0.05, "capitals": 0.07, "emoji": 0.005}

# Those that tell how robust a model is, and the seed of them that makes results comparable.
TESTED = ("capitals", "typos", "punctuation", "emoji", "numbers")
_TEST_SEED = 0


def check_shares(values: Iterable[str]) -> tuple[str, ...]:
    """Returns shares as `read_shares` reads them, each once, in one order; arguments as there."""
    return tuple(f"{kind}={share}" for kind, share in read_shares(values).items())


def read_shares(values: Iterable[str]) -> dict[str, float]:
    """Returns the share of each kind of noise, without those of 0.

    Args:
        values: `kind=share`, or "default" for `DEFAULT`; later ones replace earlier ones.

    Raises:
        TypeError: The values are one string.
        ValueError: A kind is unknown, or a share no number in [0, 1].

    Example:
        >>> read_shares(["capitals=0.05", "emoji=0.02"])
        {'capitals': 0.05, 'emoji': 0.02}
    """
    if isinstance(values, str):
        raise TypeError(f"noise must be a sequence such as ['capitals=0.05'], got {values!r}.")
    shares: dict[str, float] = {}
    for value in values:
        if value == "default":
            shares |= DEFAULT
            continue
        kind, _, text = value.partition("=")
        if kind not in NAMES:
            hint = did_you_mean(kind, ("default", *NAMES)) or "."
            raise ValueError(
                f"noise must be 'default' or a share of {', '.join(NAMES)}, such as "
                f"capitals=0.05, got {value!r}{hint}"
            )
        try:
            shares[kind] = float(text)
        except ValueError:
            shares[kind] = -1.0
        if not 0 <= shares[kind] <= 1:
            raise ValueError(f"noise takes shares in [0, 1], such as {kind}=0.05, got {value!r}.")
    return {kind: shares[kind] for kind in NAMES if shares.get(kind)}


def noisy_pairs(
    pairs: Iterable[tuple[str, str]],
    shares: Mapping[str, float],
    *,
    seed: int,
    profile: Profile = "auto",
    own: Sequence[str] = (),
) -> Iterator[tuple[str, str]]:
    """Yields sources and translations, as many, of which shares have noise.

    Spans in them stay as they are. Typos and missing accents are in the source alone, every other
    kind is on both sides. A merged pair has the next one behind it, the last one the first. A pair
    with an empty side stays as it is.

    Args:
        pairs: Sources with their translations.
        shares: The share of pairs that each kind is put into; one pair may have several.
        seed: Draws the pairs and the noise.
        profile: Which kinds of spans they may hold; a span is never changed.
        own: Regular expressions of further spans.
    """
    draw, lift = Random(seed), lifter(profile, own)  # noqa: S311
    kinds = [(kind, share) for kind, share in shares.items() if kind != MERGED]
    rest = iter(pairs)
    first = list(islice(rest, 1))
    for (source, target), following in pairwise(chain(first, rest, first)):
        if not (source.strip() and target.strip()):
            yield source, target
            continue
        if draw.random() < shares.get(MERGED, 0) and all(following):
            source, target = f"{source} {following[0]}", f"{target} {following[1]}"
        drawn = [kind for kind, share in kinds if draw.random() < share]
        if drawn:
            source, of_source = masked(source, lift)
            target, of_target = masked(target, lift)
            for kind in drawn:
                source, target = KINDS[kind](source, target, draw)
            [source], [target] = unmasked([source], of_source), unmasked([target], of_target)
        yield source, target


def with_noise(
    sources: Sequence[str], targets: Sequence[str], shares: Mapping[str, float], **more: Any
) -> tuple[list[str], list[str]]:
    """Returns the sources and the translations of `noisy_pairs`, whose other arguments follow."""
    pairs = list(noisy_pairs(zip(sources, targets, strict=True), shares, **more))
    return [source for source, _ in pairs], [target for _, target in pairs]


def noisy_test_sets(
    sources: Sequence[str], references: Sequence[str]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields the name of each kind that `TESTED` names, and a test set with it in every pair."""
    for kind in TESTED:
        yield kind, *with_noise(sources, references, {kind: 1.0}, seed=_TEST_SEED)
