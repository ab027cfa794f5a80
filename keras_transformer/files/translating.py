"""Translates the texts of segments, each with the spans of its format."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from keras_transformer.files.segments import Translation
from keras_transformer.markup.lifting import with_profile
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.spans import find_spans
from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator

Translate = Callable[[Sequence[str], Profile], list[Translation]]


class SpanTranslator:
    """Translates texts whose spans are those of a profile, which differs from call to call.

    Args:
        translator: Translates texts; one that lifts no spans puts them back by attention.
        language: Code of the source language (ISO 639-1), for its abbreviations.
        markup: The profile of all texts; each call's own if None.
        options: Options of the search.
    """

    def __init__(
        self,
        translator: TextTranslator,
        *,
        language: str = "en",
        markup: Profile | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self._translator = translator
        self._language, self._markup = language, markup
        self._options = dict(options or {})
        self._by_profile: dict[Profile, SentenceTranslator] = {}

    def __call__(self, texts: Sequence[str], profile: Profile) -> list[Translation]:
        """Returns a translation of each text; one that lacks spans is doubtful."""
        profile = self._markup or profile
        found = self._of(profile).translate_n_best(texts, return_scores=False, **self._options)
        return [
            Translation(best.text, bool(best.low_confidence) or lacks(text, best.text, profile))
            for text, [best, *_] in zip(texts, found, strict=True)
        ]

    def _of(self, profile: Profile) -> SentenceTranslator:
        if profile not in self._by_profile:
            lift = self._translator.lift
            own = with_profile(lift, profile) if self._markup is None else lift
            self._by_profile[profile] = SentenceTranslator(
                self._translator, language=self._language, lift=own
            )
        return self._by_profile[profile]


def lacks(text: str, translation: str, profile: Profile) -> bool:
    """Returns whether a translation has not just the spans of its text.

    Example:
        >>> lacks("Delete %s?", "%s löschen?", "printf"), lacks("%d files", "Dateien", "auto")
        (False, True)
    """
    sides = [Counter(one.text for one in find_spans(own, profile)) for own in (text, translation)]
    return sides[0] != sides[1]
