"""Shortlists learnt from sentences and their translations."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from keras_transformer.artefact.shortlist import Shortlist
from keras_transformer.config import TransformerConfig
from keras_transformer.export.inputs import ids_of_every_text
from keras_transformer.export.onnx.shortlists.model_1 import train_model_1
from keras_transformer.text.tokenizer import Tokenizer

# How many target tokens each source token gets, and how many frequent ones every text.
CANDIDATES, FREQUENT = 50, 100
# More pairs would take memory: about a kilobyte each while probabilities are estimated. Pairs are
# left out evenly.
_MOST_PAIRS = 250_000
# Pairs with a longer side tell little about what translates what, and take the most memory.
_MOST_TOKENS = 100


def train_shortlist(
    sources: Sequence[str],
    targets: Sequence[str],
    config: TransformerConfig,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    candidates: int = CANDIDATES,
    frequent: int = FREQUENT,
    origin: str = "parallel text",
) -> Shortlist:
    """Learns from translations which target tokens the source tokens need.

    Args:
        sources: Texts, best those that the model was trained on.
        targets: Their translations.
        config: The model's config.
        source_tokenizer: Its tokenizer of sources.
        target_tokenizer: Its tokenizer of targets.
        candidates: How many target tokens a source token gets: the most probable ones of
            `train_model_1`.
        frequent: How many of the most frequent target tokens every text gets.
        origin: Description of the source, recorded in the manifest.

    Raises:
        ValueError: The numbers of sources and targets differ, there are none, or a number is out
            of range.
    """
    check_sizes(candidates, frequent)
    if len(sources) != len(targets) or not sources:
        raise ValueError(
            "a shortlist needs at least one text and as many translations as texts, got "
            f"{len(sources)} texts and {len(targets)} translations."
        )
    step = -(-len(sources) // _MOST_PAIRS)
    pairs = [
        pair
        for pair in zip(
            source_tokenizer.encode(sources[::step]),
            target_tokenizer.encode(targets[::step]),
            strict=True,
        )
        if max(map(len, pair)) <= _MOST_TOKENS
    ]
    rows = [source for source, _ in pairs], [target for _, target in pairs]
    lexicon = train_model_1(*rows, config.source_vocab_size, config.target_vocab_size)
    tokens = np.fromiter(chain.from_iterable(rows[1]), np.int64)
    counts = np.bincount(tokens, minlength=config.target_vocab_size)
    order = np.argsort(-counts, kind="stable")[: min(frequent, np.count_nonzero(counts))]
    return Shortlist.of_lists(
        lexicon.best(candidates, config.source_vocab_size),
        ids_of_every_text(config) | set(order.tolist()),
        config.target_vocab_size,
        origin,
    )


def check_sizes(candidates: int, frequent: int) -> None:
    """Raises `ValueError` if a shortlist cannot have these sizes."""
    if candidates < 1:
        raise ValueError(f"candidates must be at least 1, got {candidates}.")
    if frequent < 0:
        raise ValueError(f"frequent must be at least 0, got {frequent}.")
