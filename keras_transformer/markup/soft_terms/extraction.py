"""Terms of parallel text: frequent phrases of 1 to 3 words, and the phrases that translate them by
the alignment of words.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from keras_transformer.markup.soft_terms.annotation import folded_words, is_form
from keras_transformer.markup.soft_terms.word_links import word_links, words_in
from keras_transformer.markup.terms import Glossary, Term

MOST_WORDS = 3
# More pairs would find few more terms, but take minutes.
SAMPLED_PAIRS = 200_000
# Words of a text; longer ones take most of the time, and are aligned worst.
_LONGEST = 50
# A term occurs so often, and once in so many pairs.
_FEWEST, _PAIRS_A_TIME = 3, 40_000
# A translation is found in this share of its places.
_RARE = 0.05
# Of the most frequent words the short ones, which short ones translate, say nothing by themselves.
_MOST_FREQUENT, _SHORT = 50, 4
# What begins a sentence has a capital that it may have nowhere else.
_RARE_FORM = 0.2
# A list to translate by holds what is translated alike in this share of its places.
_CONSISTENT = 0.5


class ExtractedTerm(NamedTuple):
    """A phrase of the source side and what translates it.

    Attributes:
        source: The phrase, without capitals.
        places: How often it occurs.
        targets: How often each translation was found, in any form, by its most frequent form; the
            most frequent translation first.
    """

    source: str
    places: int
    targets: Mapping[str, int]


def sampled_places(num_pairs: int) -> list[int]:
    """Returns the places of the pairs that terms are extracted from, ascending."""
    count = min(num_pairs, SAMPLED_PAIRS)
    return [place * num_pairs // count for place in range(count)]


def extract_terms(sources: Sequence[str], targets: Sequence[str]) -> list[ExtractedTerm]:
    """Returns the terms of texts with their translations, the most frequent first.

    Args:
        sources: Texts; of more than `SAMPLED_PAIRS` an even sample is looked at.
        targets: Their translations.
    """
    places = sampled_places(len(sources))
    sides = [(words_in(sources[place]), words_in(targets[place])) for place in places]
    pairs = [pair for pair in sides if all(0 < len(words) <= _LONGEST for words in pair)]
    fewest = max(_FEWEST, len(pairs) // _PAIRS_A_TIME)
    read = [[word.casefold() for word in source] for source, _ in pairs]
    said = [target for _, target in pairs]
    counts = _frequent_phrases(read, fewest)
    aligned: dict[str, Counter[str]] = defaultdict(Counter)
    for text, target, links in zip(read, said, word_links(read, said), strict=True):
        by_source = dict(links)
        for place, phrase in _phrases(text):
            found = _aligned(place, by_source, target) if phrase in counts else None
            if found:
                aligned[phrase][found] += 1
    stop_words = _stop_words(read), _stop_words(said)
    terms = [
        ExtractedTerm(phrase, counts[phrase], kinds)
        for phrase, forms in aligned.items()
        if not _is_cut(phrase, stop_words[0])
        and (kinds := _kinds(forms, max(fewest, int(counts[phrase] * _RARE))))
        and not (phrase in stop_words[0] and next(iter(kinds)).casefold() in stop_words[1])
    ]
    return sorted(terms, key=lambda term: (-term.places, term.source))


def consistent(terms: Sequence[ExtractedTerm]) -> Glossary:
    """Returns a list of those terms that have one translation in most places.

    Raises:
        ValueError: There is none.
    """
    kept = []
    for term in terms:
        target, count = next(iter(term.targets.items()))
        if count >= term.places * _CONSISTENT:
            kept.append(Term(term.source, target))
    if not kept:
        raise ValueError("the text has no term that is frequent and translated alike.")
    return Glossary(tuple(kept))


def _phrases(words: Sequence[str]) -> Iterator[tuple[range, str]]:
    """Yields the place of each phrase of words, and the phrase."""
    for begin in range(len(words)):
        for end in range(begin, min(begin + MOST_WORDS, len(words))):
            if not words[end][0].isalpha():
                break
            if end > begin or len(words[end]) > 1:
                yield range(begin, end + 1), " ".join(words[begin : end + 1])


def _frequent_phrases(texts: Sequence[Sequence[str]], fewest: int) -> dict[str, int]:
    """Returns the phrases that occur often, and how often."""
    counts = Counter(phrase for text in texts for _, phrase in _phrases(text))
    return {phrase: count for phrase, count in counts.items() if count >= fewest}


def _aligned(place: range, links: Mapping[int, int], target: Sequence[str]) -> str | None:
    """Returns the words of a target that a phrase is aligned with; None if they go with others,
    too, or the phrase begins or ends with a word that has none.
    """
    found = [links[one] for one in place if one in links]
    if place[0] not in links or place[-1] not in links:
        return None
    words = range(min(found), max(found) + 1)
    is_alone = all(one in place for one, other in links.items() if other in words)
    phrase = target[words.start : words.stop]
    is_phrase = len(words) <= MOST_WORDS and all(word[0].isalpha() for word in phrase)
    return " ".join(phrase) if is_alone and is_phrase else None


def _kinds(forms: Counter[str], fewest: int) -> dict[str, int]:
    """Returns how often each translation was found, in whatever form, by its best form."""
    groups: list[Counter[str]] = []
    for form, count in forms.most_common():
        words = folded_words(form)
        for group in groups:
            head = folded_words(next(iter(group)))
            if len(head) == len(words) and all(map(is_form, words, head)):
                group[form] += count
                break
        else:
            groups.append(Counter({form: count}))
    totals = {_best_form(group): sum(group.values()) for group in groups}
    return {form: n for form, n in sorted(totals.items(), key=lambda kind: -kind[1]) if n >= fewest}


def _best_form(forms: Counter[str]) -> str:
    """Returns the most frequent form, without a capital if it is found so, too."""
    best, count = forms.most_common(1)[0]
    small = best[0].lower() + best[1:]
    return small if forms[small] >= count * _RARE_FORM else best


def _is_cut(phrase: str, stop_words: Collection[str]) -> bool:
    """Returns whether several words begin or end with one that says nothing by itself."""
    first, *others = phrase.split()
    return bool(others) and (first in stop_words or others[-1] in stop_words)


def _stop_words(texts: Sequence[Sequence[str]]) -> set[str]:
    counts = Counter(word.casefold() for text in texts for word in text if word[0].isalpha())
    return {word for word, _ in counts.most_common(_MOST_FREQUENT) if len(word) <= _SHORT}
