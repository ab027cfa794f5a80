"""Searches for translations that hold what callers require and, where they can, terms."""

from collections.abc import Callable, Sequence

from keras_transformer.search.options import NOTHING_FOUND, Candidate
from keras_transformer.search.phrases import Phrases


def search_with_terms(
    search: Callable[[Sequence[int], Sequence[Phrases]], list[list[Candidate]]],
    phrases: Sequence[Phrases],
    required: Phrases,
) -> list[list[Candidate]]:
    """Returns each row's candidates; where no output holds all phrases, those that leave terms out.

    Args:
        search: Takes places of rows and the phrases of each.
        phrases: The phrases of all rows: what is required, and terms behind it.
        required: What every row must hold.
    """
    found = search(range(len(phrases)), phrases)
    lost = [
        place
        for place, own in enumerate(phrases)
        if len(own) > len(required) and found[place] == [NOTHING_FOUND]
    ]
    if lost:
        again = search(lost, [required] * len(lost))
        found = [*found]
        for place, candidates in zip(lost, again, strict=True):
            found[place] = candidates
    return found
