"""Removal of duplicate hypotheses: different tokens may spell the same text, of which only the
best-scored hypothesis is kept.
"""

import dataclasses
from collections.abc import Callable, Sequence

from keras_transformer.search.model_limits import HypothesisSize
from keras_transformer.search.options import Hypothesis, SearchOptions

# A search whose hypotheses repeat texts is made again with so many times its beams.
_WIDER = (2, 4)

# Takes places of sources and options; returns the hypotheses of each.
SearchAgain = Callable[[Sequence[int], SearchOptions], Sequence[Sequence[Hypothesis]]]


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
        options: The search's options; samples, which are drawn one by one, may repeat a text.
    """
    if options.sample or options.num_hypotheses == 1:
        return [list(own) for own in found]
    return [_distinct(own)[: options.num_hypotheses] for own in found]


def wider_searches(options: SearchOptions) -> list[SearchOptions]:
    """Returns the wider searches to make in turn if texts repeat: none for samples and for a single
    best hypothesis.
    """
    if options.sample or options.num_hypotheses == 1:
        return []
    beams = (times * options.beam_size for times in _WIDER)
    return [as_many_as_kept(dataclasses.replace(options, beam_size=one)) for one in beams]


def filled_up(
    found: Sequence[Sequence[Hypothesis]],
    options: SearchOptions,
    size: HypothesisSize | None,
    search: SearchAgain,
) -> list[list[Hypothesis]]:
    """Removes duplicates as `distinct` does, and replaces them with texts of wider searches.

    Args:
        found: The hypotheses of each source, of a search with `as_many_as_kept`.
        options: The search's options.
        size: Memory of a hypothesis, which bounds wider searches; None for no bound.
        search: Searches again.

    Returns:
        Up to `num_hypotheses` of each source, best first. The best stays that of the first search,
        so that a wider one adds none with a better score. There are fewer if four times the beams
        find no more, or would not fit into memory.
    """
    chosen = distinct(found, options)
    # Where fewer were found than kept, there are no more.
    short = [place for place, own in enumerate(found) if len(own) == options.beam_size]
    for wider in wider_searches(options):
        short = [place for place in short if len(chosen[place]) < options.num_hypotheses]
        if not short or (size is not None and not size.holds(wider)):
            break
        for place, more in zip(short, search(short, wider), strict=True):
            chosen[place] = _merged(chosen[place], more)[: options.num_hypotheses]
    return chosen


def _merged(own: Sequence[Hypothesis], more: Sequence[Hypothesis]) -> list[Hypothesis]:
    added = [one for one in more if one.score <= own[0].score]
    return sorted(_distinct([*own, *added]), key=lambda one: -one.score)


def _distinct(own: Sequence[Hypothesis]) -> list[Hypothesis]:
    # The first of each text is the best.
    best: dict[str, Hypothesis] = {}
    for one in own:
        best.setdefault(one.text, one)
    return list(best.values())
