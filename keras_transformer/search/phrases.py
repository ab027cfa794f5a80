"""Phrases that an output must hold: what one is, checks of those of a batch, and how many
hypotheses a search for them keeps.
"""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np
import numpy.typing as npt

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.options import SearchOptions

# Its forms, one of which must occur as a run of tokens.
Phrase = tuple[tuple[int, ...], ...]
Phrases = Sequence[Phrase]

# More hypotheses cost more than they bring, however many tokens phrases have.
_MOST_OPEN = 16
# Each step compares all places in phrases with each other.
_MOST_PLACES = 256
# Phrases, forms and tokens of a form up to which rows share a batch, padded to the same table.
_SHARED_SHAPE = (8, 2, 8)


class PhraseError(ValueError):
    """An output cannot hold its phrases.

    Attributes:
        index: Its place among the rows.
        reason: What is wrong with them.
    """

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"the phrases of row {index} {reason}")


def tokens_of(phrases: Phrases) -> int:
    """Returns the tokens that phrases take, each in its shortest form."""
    return sum(min(map(len, forms)) for forms in phrases)


def tokens_named(phrases: Phrases) -> list[int]:
    """Returns the tokens of all forms of phrases."""
    return [token for forms in phrases for form in forms for token in form]


def forced_places(options: SearchOptions) -> int:
    """Returns how many of the first places forced tokens may take."""
    return 1 + max((position for position, _ in options.forced_tokens), default=-1)


def open_hypotheses(phrases: Phrases, options: SearchOptions) -> int:
    """Returns how many hypotheses a search for phrases keeps open: mostly one for each number of
    phrase tokens that may have been written, and never fewer than `beam_size`.
    """
    wanted = 1
    while wanted < min(_MOST_OPEN, 1 + tokens_of(phrases)):
        wanted *= 2
    return max(options.beam_size, wanted)


def by_open_hypotheses(phrases: Sequence[Phrases], options: SearchOptions) -> list[list[int]]:
    """Returns the places of rows without phrases, and of those that keep as many hypotheses, apart
    where tables of their phrases would be much padding.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, own in enumerate(phrases):
        key: tuple[int, ...] = ()
        if own:
            shape = _shape([own])
            is_small = all(size <= most for size, most in zip(shape, _SHARED_SHAPE, strict=True))
            key = (open_hypotheses(own, options), *(() if is_small else shape))
        groups.setdefault(key, []).append(place)
    return [groups[key] for key in sorted(groups)]


def that_fit(phrases: Phrases, more: Phrases, room: int, options: SearchOptions) -> Phrases:
    """Returns phrases and those of further ones that fit beside them.

    Args:
        phrases: The phrases.
        more: The others; forms that hold banned sequences are left out.
        room: Tokens that there is room for.
        options: The search's options.
    """
    kept, room = list(phrases), room - forced_places(options)
    for one in more:
        forms = tuple(form for form in one if not _banned_in(form, options))
        wanted = [*kept, forms]
        if forms and tokens_of(wanted) <= room and math.prod(_shape([wanted])) <= _MOST_PLACES:
            kept.append(forms)
    return tuple(kept)


def check_phrases(
    phrases: Sequence[Phrases],
    options: SearchOptions,
    limits: Sequence[int],
    prefixes: Sequence[Sequence[int]],
    vocab_size: int,
    special_ids: SpecialIds,
) -> list[tuple[Phrase, ...]]:
    """Returns the phrases of each row as tuples of plain integers, without those that are part of
    others.

    Args:
        phrases: Those of each row; () for none.
        options: The search's options.
        limits: Most tokens of each row, its end token included.
        prefixes: What each row begins with, a prefix or a prompt.
        vocab_size: Size of the target vocabulary.
        special_ids: Its ids that are no text.

    Raises:
        PhraseError: A phrase is empty, holds an id that is no text or a banned sequence, or there
            is no room for all of a row.
        ValueError: Their number is not that of the rows, an option cannot be combined with phrases,
            or one names texts, which only a tokenizer reads.
    """
    lost = {"ban": options.ban, "require": () if any(phrases) else options.require}
    for name, texts in lost.items():
        if texts and len(limits):
            raise ValueError(
                f"{name}={list(texts)} needs a tokenizer, which a model alone does not have: call "
                "a Generator, OnnxGenerator, Translator or OnnxTranslator."
            )
    if not any(phrases):
        return []
    options.check_phrases()
    if len(phrases) != len(limits):
        raise ValueError(f"got phrases for {len(phrases)} of {len(limits)} rows: give () for none.")
    special = special_ids.without_text | set(special_ids.slots)
    forced = forced_places(options)
    rooms = [limit - len(begin) - forced for limit, begin in zip(limits, prefixes, strict=True)]
    found = []
    for number, (own, room) in enumerate(zip(phrases, rooms, strict=True)):
        for forms in own:
            for form in forms:
                _check_form(number, form, options, vocab_size, special)
            if not forms:
                raise PhraseError(number, "have one without any form.")
        kept = _without_parts([tuple(tuple(map(int, form)) for form in forms) for forms in own])
        if kept and tokens_of(kept) > room:
            raise PhraseError(
                number,
                f"have {tokens_of(kept)} tokens, and there is room for {room}, the end token "
                "included: shorten them, or raise max_length or max_length_ratio.",
            )
        if kept and math.prod(_shape([kept])) > _MOST_PLACES:
            raise PhraseError(
                number,
                f"are {' x '.join(map(str, _shape([kept])))} phrases, forms and tokens of the "
                f"longest, together more than {_MOST_PLACES}: give fewer or shorter ones.",
            )
        found.append(kept)
    return found


def with_slots(
    phrases: Sequence[Phrases], sources: Sequence[Sequence[int]], slots: Sequence[int]
) -> list[Phrases]:
    """Returns the phrases with the slots of their rows' sources, which must occur as well; a row
    without phrases stays without.
    """
    return [
        (*own, *(((slot,),) for slot in slots if slot in source)) if own else ()
        for own, source in zip(phrases, sources, strict=True)
    ]


def phrase_table(phrases: Sequence[Phrases]) -> npt.NDArray[np.int32]:
    """Returns phrases as an array: `(rows, phrases, forms, length)`, padded with -1."""
    table = np.full((len(phrases), *_shape(phrases)), -1, np.int32)
    for row, own in enumerate(phrases):
        for place, alternatives in enumerate(own):
            for number, form in enumerate(alternatives):
                table[row, place, number, : len(form)] = form
    return table


def _shape(phrases: Sequence[Phrases]) -> tuple[int, int, int]:
    """Returns the most phrases of a row, forms of a phrase and tokens of a form."""
    forms = [forms for own in phrases for forms in own]
    longest = max(len(form) for own in forms for form in own)
    return max(map(len, phrases)), max(map(len, forms)), longest


def _check_form(
    number: int,
    form: Sequence[int],
    options: SearchOptions,
    vocab_size: int,
    special: AbstractSet[int],
) -> None:
    if not len(form):
        raise PhraseError(number, "have an empty one.")
    for token in form:
        if not 0 <= token < vocab_size or token in special:
            raise PhraseError(
                number,
                f"hold token {token}: they must hold ids of text from 0 to {vocab_size - 1}.",
            )
    for banned in _banned_in(form, options):
        raise PhraseError(number, f"hold {list(banned)}, one of banned_sequences.")


def _banned_in(form: Sequence[int], options: SearchOptions) -> list[tuple[int, ...]]:
    return [banned for banned in options.banned_sequences if _is_in(banned, form)]


def _without_parts(phrases: Sequence[Phrase]) -> tuple[Phrase, ...]:
    """Leaves out each phrase that stands in every form of another one."""
    kept: list[Phrase] = []
    for place, own in enumerate(phrases):
        others = [*kept, *phrases[place + 1 :]]
        if not any(
            all(any(_is_in(form, longer) for form in own) for longer in other) for other in others
        ):
            kept.append(own)
    return tuple(kept)


def _is_in(part: Sequence[int], whole: Sequence[int]) -> bool:
    starts = range(len(whole) - len(part) + 1)
    return any(list(whole[start : start + len(part)]) == list(part) for start in starts)
