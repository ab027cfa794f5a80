"""Turns a search's tensors into candidates: takes padded ids and scores and returns plain lists."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.constraints import IMPOSSIBLE
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.random_numbers import fresh_seed

Tensor = Any


def with_seed(options: SearchOptions) -> SearchOptions:
    """Returns the options, with a random seed if they sample and have none."""
    if options.sample and options.seed is None:
        return dataclasses.replace(options, seed=fresh_seed())
    return options


def candidates_of(
    found: tuple[Tensor, Tensor, Tensor], special_ids: SpecialIds
) -> Iterator[list[Candidate]]:
    """Yields the possible hypotheses of each sentence of a batch.

    Args:
        found: Ids `(batch, K, length)`, scores and log-probabilities `(batch, K)`.
        special_ids: The ids that are no text.
    """
    for sentence in zip(*(np.array(part) for part in found), strict=True):
        yield [
            Candidate(strip(ids, special_ids), float(score), float(total))
            for ids, score, total in zip(*sentence, strict=True)
            if score > IMPOSSIBLE / 2
        ]


def strip(ids: np.ndarray, special_ids: SpecialIds) -> list[int]:
    """Cuts a hypothesis at its end token or padding."""
    ends = np.flatnonzero((ids == special_ids.eos) | (ids == special_ids.pad))
    return ids[: ends[0] if len(ends) else None].tolist()
