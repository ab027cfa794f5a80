"""Translates a document: which of its segments, what was translated before, what is left over."""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from keras_transformer.files.codes import between_codes, has_codes_of
from keras_transformer.files.icu import read_message
from keras_transformer.files.memory import Memory
from keras_transformer.files.results import Results
from keras_transformer.files.segments import Document, State, Translation
from keras_transformer.files.translating import Translate
from keras_transformer.markup.profiles import Profile

Update = Literal["untranslated", "fuzzy", "all"]
_STATES: dict[Update, tuple[State, ...]] = {
    "untranslated": ("untranslated",),
    "fuzzy": ("untranslated", "fuzzy"),
    "all": ("untranslated", "fuzzy", "translated"),
}
# Texts that are translated together, and then kept.
_BLOCK = 128


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a document.

    Attributes:
        data: The file with its translations.
        translated: Segments that were translated, those of the memory included.
        remembered: Segments that the memory had.
        left: Segments that had a translation.
        doubtful: The lines of translations that should be looked at.
        warnings: What is wrong with lengths, each with its line.
    """

    data: bytes
    translated: int
    remembered: int
    left: int
    doubtful: Sequence[int]
    warnings: Sequence[str]


def translate_document(
    document: Document,
    translate: Translate,
    *,
    update: Update = "untranslated",
    memory: Memory | None = None,
    results: Results | None = None,
    progress: Callable[[int], object] = lambda count: None,
) -> Outcome:
    """Translates a document's segments.

    Args:
        document: What was read.
        translate: Translates texts with the spans of a profile.
        update: Which segments: those without a translation, those that need review, too, or all.
        memory: Translations that are used in place of new ones.
        results: What was translated already, to which new translations are added.
        progress: Called with the number of texts that were translated.

    Returns:
        The file with its translations, and what was done.
    """
    memory, results = memory or Memory(), Results() if results is None else results
    chosen = {
        place: segment
        for place, segment in enumerate(document.segments)
        if segment.state in _STATES[update] and any(text.strip() for text in segment.texts)
    }
    known = {
        place: [Translation(text, is_known=True) for text in given]
        for place, segment in chosen.items()
        if (given := memory.find(segment))
    }
    messages = {
        place: [read_message(text) for text in segment.texts]
        for place, segment in chosen.items()
        if place not in known
    }
    asked = [
        (chosen[place].profile, text)
        for place, own in messages.items()
        for message in own
        for text in message.texts
    ]
    _translate_all(asked, translate, results, progress)
    _translate_between_codes(asked, translate, results, progress)
    found = {
        place: known.get(place)
        or [
            message.joined([results[segment.profile, text] for text in message.texts])
            for message in messages[place]
        ]
        for place, segment in chosen.items()
    }
    lines = {place: chosen[place].line for place in found}
    return Outcome(
        document.written(found),
        len(found),
        len(known),
        len(document.segments) - len(found),
        [lines[place] for place, own in found.items() if any(one.is_doubtful for one in own)],
        [
            f"line {lines[place]}: {warning}"
            for place, own in found.items()
            for one in own
            if (warning := chosen[place].limit(one.text))
        ],
    )


def _translate_between_codes(
    texts: Sequence[tuple[Profile, str]],
    translate: Translate,
    results: Results,
    progress: Callable[[int], object],
) -> None:
    """Translates what stands between inline codes on its own, where a translation lost some."""
    damaged = {key for key in texts if not has_codes_of(key[1], results[key].text)}
    parts = {(profile, text): between_codes(text) for profile, text in damaged}
    _translate_all(
        [(profile, one) for (profile, _), own in parts.items() for one in own[::2] if one.strip()],
        translate,
        results,
        progress,
    )
    for (profile, text), own in parts.items():
        own[::2] = [results[profile, one].text if one.strip() else one for one in own[::2]]
        results.add([((profile, text), Translation("".join(own), is_doubtful=True))])


def _translate_all(
    texts: Iterable[tuple[Profile, str]],
    translate: Translate,
    results: Results,
    progress: Callable[[int], object],
) -> None:
    """Adds what is not done yet, each text once for its profile."""
    by_profile: dict[Profile, dict[str, None]] = {}
    for profile, text in texts:
        if (profile, text) not in results:
            by_profile.setdefault(profile, {})[text] = None
    for profile, own in by_profile.items():
        rest = list(own)
        for start in range(0, len(rest), _BLOCK):
            block = rest[start : start + _BLOCK]
            found = translate(block, profile)
            results.add(zip([(profile, text) for text in block], found, strict=True))
            progress(len(block))
