"""Translates a document: which of its segments, what was translated before, what is left over."""

import dataclasses
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from keras_transformer.files.codes import between_codes, has_codes_of, without_codes
from keras_transformer.files.icu import Message, read_message
from keras_transformer.files.memory import Memory
from keras_transformer.files.results import Results
from keras_transformer.files.segments import Document, Segment, State, Translation
from keras_transformer.files.translating import Translate, says_nothing
from keras_transformer.markup.profiles import Profile

Update = Literal["untranslated", "fuzzy", "all"]
_STATES: dict[Update, tuple[State, ...]] = {
    "untranslated": ("untranslated",),
    "fuzzy": ("untranslated", "fuzzy"),
    "all": ("untranslated", "fuzzy", "translated"),
}
# Texts that are translated together, and then kept.
_BLOCK = 128


class Block(NamedTuple):
    """Texts to translate together, and the profile of the spans that they may hold."""

    texts: Sequence[str]
    profile: Profile


class Doubt(NamedTuple):
    """A translation that should be looked at, and the line of the file that its text stands in."""

    line: int
    text: str
    translation: str


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What became of a document.

    Attributes:
        data: The file with its translations.
        translated: Segments that were translated, those of the memory included.
        remembered: Segments that the memory had.
        similar: Segments whose translation had the help of a similar one.
        left: Segments that had a translation.
        doubts: The translations that should be looked at.
        warnings: What is wrong with the file and with lengths, each with its line.
    """

    data: bytes
    translated: int
    remembered: int
    similar: int
    left: int
    doubts: Sequence[Doubt]
    warnings: Sequence[str]


# Yields what is to be translated, and is sent the translations of it.
Job = Generator[Block, Sequence[Translation], Outcome]


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
        update: As for `document_job`.
        memory: As for `document_job`.
        results: As for `document_job`.
        progress: Called with the number of texts that were translated.

    Returns:
        The file with its translations, and what was done.
    """
    job = document_job(document, update=update, memory=memory, results=results)
    found = next_of(job)
    while isinstance(found, Block):
        translations = translate(found.texts, found.profile)
        progress(len(found.texts))
        found = next_of(job, translations)
    return found


def next_of(job: Job, translations: Sequence[Translation] | None = None) -> Block | Outcome:
    """Returns what a job wants translated next, or what became of its document.

    Args:
        job: The job.
        translations: Those of the block that it wanted before; None at the beginning.
    """
    try:
        return next(job) if translations is None else job.send(translations)
    except StopIteration as end:
        outcome: Outcome = end.value
        return outcome


def chosen_segments(document: Document, update: Update) -> Mapping[int, Segment]:
    """Returns the segments that are translated, by their place in the document.

    Args:
        document: What was read.
        update: Which segments: those without a translation, those that need review, too, or all.
    """
    return {
        place: segment
        for place, segment in enumerate(document.segments)
        if segment.state in _STATES[update] and any(text.strip() for text in segment.texts)
    }


def document_job(
    document: Document,
    *,
    update: Update = "untranslated",
    memory: Memory | None = None,
    results: Results | None = None,
) -> Job:
    """Yields the texts of a document that are to be translated; see `next_of`.

    Args:
        document: What was read.
        update: As for `chosen_segments`.
        memory: Translations that are used in place of new ones.
        results: What was translated already, to which new translations are added.
    """
    memory, results = memory or Memory(), Results() if results is None else results
    chosen = chosen_segments(document, update)
    known = {
        place: [Translation(text, is_known=True) for text in given]
        for place, segment in chosen.items()
        if (given := memory.find(segment))
    }
    message_of = read_message if document.has_choices else Message
    messages = {
        place: [message_of(text) for text in segment.texts]
        for place, segment in chosen.items()
        if place not in known
    }
    asked = [
        (chosen[place].profile, text)
        for place, own in messages.items()
        for message in own
        for text in message.texts
    ]
    yield from _translate_all(asked, results)
    yield from _translate_between_codes(asked, results)
    found = {
        place: known.get(place)
        or [
            message.joined([results[segment.profile, text] for text in message.texts])
            for message in messages[place]
        ]
        for place, segment in chosen.items()
    }
    doubts = [
        Doubt(chosen[place].line, without_codes(text), without_codes(one.text))
        for place, own in found.items()
        for text, one in zip(chosen[place].texts, own, strict=False)
        if one.is_doubtful
    ]
    return Outcome(
        document.written(found),
        len(found),
        len(known),
        sum(any(one.hint for one in own) for own in found.values()),
        len(document.segments) - len(found),
        doubts,
        [
            *document.warnings,
            *(
                f"line {chosen[place].line}: {warning}"
                for place, own in found.items()
                for one in own
                if (warning := chosen[place].limit(one.text))
            ),
        ],
    )


def _translate_between_codes(
    texts: Sequence[tuple[Profile, str]], results: Results
) -> Generator[Block, Sequence[Translation]]:
    """Translates what stands between inline codes on its own, where a translation lost some."""
    damaged = {key for key in texts if not has_codes_of(key[1], results[key].text)}
    parts = {(profile, text): between_codes(text) for profile, text in damaged}
    yield from _translate_all(
        [(profile, one) for (profile, _), own in parts.items() for one in own[::2] if one.strip()],
        results,
    )
    for (profile, text), own in parts.items():
        own[::2] = [results[profile, one].text if one.strip() else one for one in own[::2]]
        results.add([((profile, text), Translation("".join(own), is_doubtful=True))])


def _translate_all(
    texts: Iterable[tuple[Profile, str]], results: Results
) -> Generator[Block, Sequence[Translation]]:
    """Adds what is not done yet, each text once for its profile.

    A text whose translation says nothing stays as it is.
    """
    by_profile: dict[Profile, dict[str, None]] = {}
    for profile, text in texts:
        one = results.get((profile, text))
        # Jobs of earlier versions left translations that say nothing.
        if one is None or says_nothing(text, one.text, profile):
            by_profile.setdefault(profile, {})[text] = None
    for profile, own in by_profile.items():
        rest = list(own)
        for start in range(0, len(rest), _BLOCK):
            block = rest[start : start + _BLOCK]
            found = yield Block(block, profile)
            kept = []
            for text, one in zip(block, found, strict=True):
                if says_nothing(text, one.text, profile):
                    one = Translation(text, is_doubtful=True)
                kept.append(((profile, text), one))
            results.add(kept)
