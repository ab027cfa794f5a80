"""Translates a document: which of its segments, what was translated before, what is left over."""

import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Literal

from keras_transformer.files.segments import Document, Segment, State, Translation
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

# What was translated of this job already, by profile and text.
Done = MutableMapping[tuple[Profile, str], Translation]


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
    memory: Mapping[tuple[str, ...], tuple[str, ...]] | None = None,
    done: Done | None = None,
    progress: Callable[[int], object] = lambda count: None,
) -> Outcome:
    """Translates a document's segments.

    Args:
        document: What was read.
        translate: Translates texts with the spans of a profile.
        update: Which segments: those without a translation, those that need review, too, or all.
        memory: Known translations of segments by their texts.
        done: What was translated already, to which new translations are added; None for nothing.
        progress: Called with the number of texts that were translated.

    Returns:
        The file with its translations, and what was done.
    """
    memory, done = memory or {}, {} if done is None else done
    chosen = {
        place: segment
        for place, segment in enumerate(document.segments)
        if segment.state in _STATES[update] and any(text.strip() for text in segment.texts)
    }
    known = {
        place: [Translation(text) for text in memory[segment.texts]]
        for place, segment in chosen.items()
        if segment.texts in memory
    }
    asked = [segment for place, segment in chosen.items() if place not in known]
    _translate_all(asked, translate, done, progress)
    found = {
        place: known.get(place) or [done[segment.profile, text] for text in segment.texts]
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


def _translate_all(
    segments: Sequence[Segment],
    translate: Translate,
    done: Done,
    progress: Callable[[int], object],
) -> None:
    """Adds what is not done yet, each text once for its profile."""
    by_profile: dict[Profile, dict[str, None]] = {}
    for segment in segments:
        for text in segment.texts:
            if (segment.profile, text) not in done:
                by_profile.setdefault(segment.profile, {})[text] = None
    for profile, texts in by_profile.items():
        rest = list(texts)
        for start in range(0, len(rest), _BLOCK):
            block = rest[start : start + _BLOCK]
            found = translate(block, profile)
            done.update(zip([(profile, text) for text in block], found, strict=True))
            progress(len(block))
