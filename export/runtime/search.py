"""Runs the search that a request asks for: a decoder and a request come in, candidates leave."""

from .beam_search import BeamSearch
from .one_by_one import OneByOne
from .requests import Candidate, Request, Steps


def search(steps: Steps, request: Request) -> list[list[Candidate]]:
    """Returns up to `num_hypotheses` candidates of each sentence, best first, or its samples.

    There are fewer only where fewer are possible.
    """
    if not request.limits:
        return []
    options = request.options
    # With "exact", one beam still looks past its first end.
    if options.beam_size > 1 or (options.early_stopping == "exact" and not options.sample):
        return BeamSearch(steps, request).run()
    one_by_one = OneByOne(steps, request)
    for _ in one_by_one:
        pass
    return one_by_one.results()
