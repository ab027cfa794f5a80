"""The search that a request asks for: greedy, beam or sampling."""

from keras_transformer.runtime.loop.beam_search import BeamSearch
from keras_transformer.runtime.loop.one_by_one import OneByOne
from keras_transformer.runtime.loop.requests import SearchRequest, Steps
from keras_transformer.search.options import Candidate, SearchOptions


def needs_ranking(options: SearchOptions) -> bool:
    """Tells whether a search looks at more than the most probable token of each row."""
    return options.sample or _needs_beams(options)


def search(steps: Steps, request: SearchRequest) -> list[list[Candidate]]:
    """Returns up to `num_hypotheses` candidates of each sentence, best first, or its samples.

    There are fewer only if fewer are possible.
    """
    if not request.limits:
        return []
    if _needs_beams(request.options):
        return BeamSearch(steps, request).run()
    one_by_one = OneByOne(steps, request)
    for _ in one_by_one:
        pass
    return one_by_one.results()


def step_graph(options: SearchOptions, with_scores: bool) -> str:
    """Returns the name of the graph whose steps a search makes."""
    if needs_ranking(options):
        return "decoder"
    return "greedy_scores" if with_scores else "greedy"


def _needs_beams(options: SearchOptions) -> bool:
    return options.beam_size > 1 or options.looks_past_ends
