"""Keeps of several hypotheses of one source those whose texts differ: a text can be spelled by
several rows of tokens, each with a score of its own.
"""

import dataclasses
from collections.abc import Sequence

from keras_transformer.search.options import Hypothesis, SearchOptions


def as_many_as_kept(options: SearchOptions) -> SearchOptions:
    """Returns the options with as many hypotheses as the search keeps, some of which may be equal
    as texts; a single best one and samples are left as they are.
    """
    if options.sample or options.num_hypotheses == 1:
        return options
    return dataclasses.replace(options, num_hypotheses=options.beam_size)


def distinct(
    found: Sequence[Sequence[Hypothesis]], options: SearchOptions
) -> list[list[Hypothesis]]:
    """Returns the best `num_hypotheses` of each source whose texts differ.

    Args:
        found: The hypotheses of each source, best first.
        options: What was asked for; samples, which are drawn one by one, may repeat a text.
    """
    if options.sample or options.num_hypotheses == 1:
        return [list(own) for own in found]
    return [_distinct(own)[: options.num_hypotheses] for own in found]


def _distinct(own: Sequence[Hypothesis]) -> list[Hypothesis]:
    # The first of each text is the best.
    best: dict[str, Hypothesis] = {}
    for one in own:
        best.setdefault(one.text, one)
    return list(best.values())
