"""Parallel text to train on with annotated sources: drawn from a seed before text becomes ids, so
that a resumed run draws the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

from keras_transformer.markup.soft_terms.annotation import annotated, folded_words, holds_form
from keras_transformer.markup.soft_terms.extraction import MOST_WORDS, ExtractedTerm
from keras_transformer.markup.soft_terms.word_links import words_of
from keras_transformer.markup.spans import find_spans
from keras_transformer.markup.terms import Term
from keras_transformer.text.subwords.slots import TERM_MARKS


def with_soft_terms(
    sources: Sequence[str],
    targets: Sequence[str],
    terms: Sequence[ExtractedTerm],
    *,
    share: float,
    seed: int,
) -> list[str]:
    """Returns the sources as `annotated_pairs` yields them; arguments as there."""
    pairs = zip(sources, targets, strict=True)
    return [source for source, _ in annotated_pairs(pairs, terms, share=share, seed=seed)]


def annotated_pairs(
    pairs: Iterable[tuple[str, str]], terms: Sequence[ExtractedTerm], *, share: float, seed: int
) -> Iterator[tuple[str, str]]:
    """Yields the pairs, a share of them with the translations that their targets have, in any form,
    beside some terms of their sources.

    Args:
        pairs: Texts with their translations.
        terms: The terms of such texts.
        share: The share of pairs that are drawn, in [0, 1].
        seed: Draws the pairs, and of each how many of its terms are annotated, and which ones.
    """
    draw = Random(seed)  # noqa: S311
    known = {term.source: tuple(term.targets) for term in terms}
    for source, target in pairs:
        if draw.random() < share and not set(TERM_MARKS) & {*source, *target}:
            found = list(_shared_terms(source, target, known))
            if found:
                chosen = draw.sample(found, draw.randint(1, len(found)))
                source = annotated(source, sorted(chosen))
        yield source, target


def _shared_terms(
    source: str, target: str, known: Mapping[str, Sequence[str]]
) -> Iterator[tuple[int, str]]:
    """Yields the place behind each term of a text that a translation has, too, and what translates
    it there; the longest of those that overlap, and none in a span.
    """
    said, free = folded_words(target), 0
    spans = find_spans(source)
    words = [
        word
        for word in words_of(source)
        if not any(word.start() < span.end and span.start < word.end() for span in spans)
    ]
    for begin, first in enumerate(words):
        if first.start() < free:
            continue
        for last in reversed(words[begin : begin + MOST_WORDS]):
            phrase = source[first.start() : last.end()]
            forms = known.get(" ".join(phrase.casefold().split()), ())
            form = next((one for one in forms if holds_form(said, one)), None)
            if form is not None:
                free = last.end()
                yield free, Term(phrase.casefold(), form).target_of(phrase)
                break
