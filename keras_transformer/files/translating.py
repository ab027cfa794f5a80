"""Translates the texts of segments, each with the spans of its format, and with what is known of
similar texts.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_transformer.files.memory import Similar, SimilarTexts
from keras_transformer.files.segments import Translation
from keras_transformer.markup.lifting import with_profile
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.spans import around, find_spans
from keras_transformer.search.named_ids import PrefixError
from keras_transformer.text.subwords.attributes import without_values
from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator

# Words of a text that begins as a similar one does.
_MOST_WORDS = 64
Translate = Callable[[Sequence[str], Profile], list[Translation]]


class SpanTranslator:
    """Translates texts whose spans are those of a profile, which differs from call to call.

    Args:
        translator: Translates texts; one that lifts no spans puts them back by attention.
        language: Code of the source language (ISO 639-1), for its abbreviations.
        markup: The profile of all texts; each call's own if None.
        similar: Texts that somebody has translated. Where the beginnings of a text and a similar
            one agree, the translation begins with what the same words became there.
        options: Options of the search.
    """

    def __init__(
        self,
        translator: TextTranslator,
        *,
        language: str = "en",
        markup: Profile | None = None,
        similar: SimilarTexts | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._translator = translator
        self._language, self._markup, self._similar = language, markup, similar
        self._options = dict(options or {})
        self._by_profile: dict[Profile, SentenceTranslator] = {}

    def __call__(self, texts: Sequence[str], profile: Profile) -> list[Translation]:
        """Returns a translation of each text; one that lacks spans is doubtful."""
        profile = self._markup or profile
        options = {"return_scores": False, **self._options}
        similar = [self._similar.find(text) if self._similar else None for text in texts]
        beginnings = self._beginnings(texts, similar, profile) if any(similar) else None
        translator = self._of(profile)
        try:
            found = translator.translate_n_best(texts, target_prefixes=beginnings, **options)
        except PrefixError:
            # A beginning leaves no room for the rest.
            found = translator.translate_n_best(texts, **options)
        return [
            Translation(
                best.text,
                bool(best.low_confidence) or lacks(text, best.text, profile),
                hint=f"fuzzy match {one.percent} %: {one.translation}" if one else "",
            )
            for text, one, [best, *_] in zip(texts, similar, found, strict=True)
        ]

    def _beginnings(
        self, texts: Sequence[str], similar: Sequence[Similar | None], profile: Profile
    ) -> list[str]:
        """Returns how the translation of each text begins, "" where nothing is known of it.

        The words of a similar text are aligned with those of its translation, which is cut before
        the first word that does not come from the words that both texts begin with. Where a word
        that changes belongs to none of the translation's, nothing is known.
        """
        begins = {
            place: (one, _changed(text, one.text))
            for place, (text, one) in enumerate(zip(texts, similar, strict=True))
            if one and self._is_simple(text, one, profile)
        }
        beginnings = [""] * len(texts)
        if not begins:
            return beginnings
        scored = self._translator.score(
            [one.text for one, _ in begins.values()],
            [one.translation for one, _ in begins.values()],
            return_attention=True,
        )
        for (place, (one, changed)), hypothesis in zip(begins.items(), scored, strict=True):
            pairs = self._translator.align_words(one.text, hypothesis)
            beginnings[place] = _beginning(one.translation, pairs, changed)
        return beginnings

    def _is_simple(self, text: str, similar: Similar, profile: Profile) -> bool:
        """Returns whether texts are one short sentence each, whose words are all the model's."""
        sides = (text, similar.text, similar.translation)
        spans = [one.text for side in sides for one in find_spans(side, profile)]
        return (
            all(len(side.split()) <= _MOST_WORDS for side in sides)
            and not any(_is_tag(one) for one in spans)
            and self._of(profile).count_parts(sides[:2]) == 2
        )

    def _of(self, profile: Profile) -> SentenceTranslator:
        if profile not in self._by_profile:
            lift = self._translator.lift
            own = with_profile(lift, profile) if self._markup is None else lift
            self._by_profile[profile] = SentenceTranslator(
                self._translator, language=self._language, lift=own
            )
        return self._by_profile[profile]


def _changed(text: str, other: str) -> range:
    """Returns the words of another text that stand between what both begin and end with."""
    words, others = text.split(), other.split()
    most = min(len(words), len(others))
    start = next((at for at in range(most) if words[at] != others[at]), most)
    same = next((at for at in range(most - start) if words[-1 - at] != others[-1 - at]), None)
    return range(start, len(others) - (most - start if same is None else same))


def _beginning(translation: str, pairs: Sequence[tuple[int, int]], changed: range) -> str:
    """Returns how a translation begins, as far as it comes from the first words of its text.

    Args:
        translation: The translation.
        pairs: Words of the text and of the translation that belong together.
        changed: The words of the text that others stand for.

    Example:
        >>> _beginning("die alte Datei löschen", [(1, 0), (2, 1), (3, 2), (0, 3)], range(3, 4))
        'die alte'
    """
    if not {source for source, _ in pairs}.issuperset(changed):
        return ""
    words, taken = translation.split(), 0
    for place in range(len(words)):
        sources = [source for source, target in pairs if target == place]
        if any(source >= changed.start for source in sources):
            break
        # What belongs to no word may belong to what follows.
        taken = place + 1 if sources else taken
    return " ".join(words[:taken])


def _is_tag(span: str) -> bool:
    return span.startswith("<") or any(map(str.isspace, span))


def lacks(text: str, translation: str, profile: Profile) -> bool:
    """Returns whether a translation has not just the spans of its text.

    Example:
        >>> lacks("Delete %s?", "%s löschen?", "printf"), lacks("%d files", "Dateien", "auto")
        (False, True)
    """
    sides = [
        Counter(without_values(one.text) for one in find_spans(own, profile))
        for own in (text, translation)
    ]
    return sides[0] != sides[1]


def says_nothing(text: str, translation: str, profile: Profile) -> bool:
    """Returns whether a translation is blank, or has spans alone though its text has letters.

    Example:
        >>> says_nothing("Delete %s?", "%s", "printf"), says_nothing("%s: %d", "%s: %d", "printf")
        (True, False)
    """
    if not translation.strip():
        return True
    spans = find_spans(translation, profile)
    letters = "".join(around(text, find_spans(text, profile)))
    return (
        bool(spans)
        and not any(map(str.isalnum, "".join(around(translation, spans))))
        and any(map(str.isalpha, letters))
    )
