"""Where the sentences of a text end, and long ones are halved, for a model trained on single ones.
Needs no TensorFlow.
"""

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import sentencex

from keras_transformer.text.letterless import Kind, carve, has_letter, is_carried
from keras_transformer.text.passage import LANGUAGE, Passage
from keras_transformer.text.subwords.attributes import that_fit
from keras_transformer.text.subwords.slots import Lift, taken_out, unmasked

_LINE_BREAKS = re.compile("([\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)")
# Where a sentence is halved: after a clause, or else after a word.
_CLAUSE_ENDS = re.compile(r"[,;:،]\s+|[、，；：]\s*|\s[–—-]\s+")
_WORD_ENDS = re.compile(r"\s+")
# How far from the middle, in characters: nearby first, and in a text of many pages not everywhere.
_REACHES = (64, 512, 4096)


class TooManyPartsError(ValueError):
    """A text has more parts than allowed.

    Args:
        most_parts: The most that are allowed.
        most_tokens: The longest part, where longer sentences were halved; None if none was.
    """

    def __init__(self, most_parts: int, most_tokens: int | None = None) -> None:
        parts = "sentences" if most_tokens is None else f"parts of at most {most_tokens} tokens"
        super().__init__(f"the text has more than {most_parts} {parts}: split it.")


def split_sentences(text: str, language: str = LANGUAGE) -> list[str]:
    """Returns the sentences of a text, which joined are the text.

    A line break ends a sentence. A piece without a letter, such as the number of a list's entry,
    belongs to the sentence after it; the space between two sentences belongs to the first.

    Args:
        text: Any text; a blank one is one sentence.
        language: Code of its language (ISO 639-1), for abbreviations and marks; one that the
            library does not know is treated as English.
    """
    lines = (_segments(line, language) for line in _lines(text))
    return [sentence for line in lines for sentence in _with_letters(line)] or [""]


def split_passage(
    text: str,
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    *,
    most_tokens: int | None = None,
    most_sentences: int = 1,
    most_parts: int | None = None,
    language: str = LANGUAGE,
    carried: Collection[Kind] = (),
    lift: Lift | None = None,
) -> Passage:
    """Takes a text apart into parts that a model can translate.

    Args:
        text: The text.
        lengths_of: Gives the number of tokens of each of several texts.
        most_tokens: Longest part. A longer sentence is halved after a clause, after a word or, if
            there is neither, after a character, until its parts are short enough. No limit if None,
            but that of slots, where a sentence has more spans.
        most_sentences: Most sentences of a line that stay together, if they are short enough.
        most_parts: Most parts of the text; no limit if None.
        language: Code of its language (ISO 639-1), for abbreviations and marks.
        carried: What goes around the model (`letterless`).
        lift: Lifts spans out of texts; none is taken apart.

    Raises:
        TooManyPartsError: The text has more than `most_parts`; raised as soon as they are found.
    """
    whole = text
    text, spans, accelerator, lifted = taken_out(text, lift)
    attributes = that_fit(lifted.attributes if lifted else (), lengths_of, most_tokens)

    def has_slots(piece: str) -> bool:
        return not (lift and lifted and lifted.lacks_slots and lift(piece).lacks_slots)

    pieces: list[tuple[str, bool]] = []
    parts = len(attributes)
    halved_to = None
    for line in _lines(text):
        for is_text, run in itertools.groupby(_carved(line, carried, language), lambda one: one[1]):
            sentences = [piece for piece, _ in run]
            if not is_text:
                pieces += [(piece, False) for piece in sentences]
                continue
            lengths = lengths_of(sentences)
            bound = sum(lengths) if most_tokens is None else most_tokens
            for group, tokens in _groups(sentences, lengths, bound, most_sentences, has_slots):
                for piece in _halved(group, tokens, lengths_of, bound, has_slots):
                    pieces.append((piece, True))
                    parts += bool(piece.strip())
                    halved_to = most_tokens if piece != group else halved_to
                    if most_parts is not None and parts > most_parts:
                        raise TooManyPartsError(most_parts, halved_to)
    if spans:
        texts = unmasked([piece for piece, _ in pieces], spans)
        pieces = [(piece, is_text) for piece, (_, is_text) in zip(texts, pieces, strict=True)]
    found = _passage(pieces, carried)
    return replace(
        found,
        sources=(*found.sources, *(one.value for one in attributes)),
        gaps=(*found.gaps, *("" for _ in attributes)),
        lift=lift,
        accelerator=accelerator,
        attributes=attributes,
        known=(whole, lifted) if lifted else None,
    )


def _carved(line: str, carried: Collection[Kind], language: str) -> Iterator[tuple[str, bool]]:
    """Yields the sentences of a line and what is between them, each with whether it is text."""

    def is_alone(piece: str, before: str) -> bool:
        # "on 3. 4. 1990" comes apart like sentences.
        is_day = piece.rstrip().endswith(".") and before.rstrip().rstrip(".")[-1:].isdigit()
        return bool(carried) and not is_day and is_carried(piece, carried)

    # "2." is the number of an entry of a list if the line began with one.
    has_dots = True
    for sentence in _with_letters(_segments(line, language), is_alone):
        pieces = [(sentence, True)]
        if carried:
            pieces = carve(sentence, carried, has_dots=has_dots, language=language)
            has_dots = has_dots and not pieces[0][1]
        yield from pieces


def _segments(line: str, language: str) -> list[str]:
    """Returns the sentences of a line, and what looks like one."""
    pieces = sentencex.segment(language, line) if line.strip() else [line]
    # What does not come back whole is not taken apart.
    return pieces if "".join(pieces) == line else [line]


def _lines(text: str) -> list[str]:
    """Returns the lines, each with its line break."""
    parts = [*_LINE_BREAKS.split(text), ""]
    return [line + end for line, end in zip(parts[::2], parts[1::2], strict=True) if line or end]


def _with_letters(
    pieces: Sequence[str], is_alone: Callable[[str, str], bool] = lambda piece, before: False
) -> list[str]:
    """Joins each piece without a letter with the next, or at the end with the one before.

    Args:
        pieces: The sentences of a line.
        is_alone: Takes such a piece and the one before it; tells whether it is joined with none.
    """
    found: list[str] = []
    waiting = before = ""
    for piece in pieces:
        if waiting or has_letter(piece) or not is_alone(piece, before):
            waiting += piece
        else:
            found.append(piece)
        if waiting and has_letter(piece):
            found.append(waiting)
            waiting = ""
        before = piece
    if waiting and found:
        found[-1] += waiting
    return found or [waiting]


def _groups(
    sentences: Sequence[str],
    lengths: Sequence[int],
    most_tokens: int,
    most_sentences: int,
    fits: Callable[[str], bool],
) -> Iterator[tuple[str, int | None]]:
    """Yields as many sentences together as allowed, and the length of those that remain single."""
    group: list[str] = []
    tokens = 0
    for sentence, length in zip(sentences, lengths, strict=True):
        is_longest = len(group) == most_sentences or tokens + length > most_tokens
        if group and (is_longest or not fits("".join((*group, sentence)))):
            yield "".join(group), tokens if len(group) == 1 else None
            group, tokens = [], 0
        group.append(sentence)
        tokens += length
    yield "".join(group), tokens if len(group) == 1 else None


def _halved(
    text: str,
    tokens: int | None,
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    most_tokens: int,
    fits: Callable[[str], bool],
) -> Iterator[str]:
    """Yields the text in equal parts, until each fits and has no more than so many tokens."""
    if tokens is None:
        tokens = lengths_of([text])[0]
    if (tokens <= most_tokens and fits(text)) or len(text.strip()) < 2:
        yield text
        return
    middle = _middle(text)
    for half in (text[:middle], text[middle:]):
        # What is much too long by its share of the whole need not be tokenized again.
        share = tokens * len(half) // len(text)
        known = share if share > 2 * most_tokens else None
        yield from _halved(half, known, lengths_of, most_tokens, fits)


def _middle(text: str) -> int:
    """Returns where to halve a text: near its middle, neither half blank."""
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    middle = (start + end) // 2
    # A clause may end anywhere in the middle half; a word that does not is all but endless.
    quarter = (end - start) // 4
    for ends in (_CLAUSE_ENDS, _WORD_ENDS):
        for reach in _REACHES:
            first, last = middle - min(reach, quarter), middle + min(reach, quarter)
            places = [found.end() for found in ends.finditer(text, first, last)]
            if places:
                return min(places, key=lambda place: abs(2 * place - start - end))
            if reach >= quarter:
                break
    return middle


def _passage(pieces: Sequence[tuple[str, bool]], carried: Collection[Kind]) -> Passage:
    """Moves what is around parts of a text into gaps; a blank piece is all space."""
    sources: list[str] = []
    gaps = [""]
    for piece, is_text in pieces:
        source = piece.strip() if is_text else ""
        if not source:
            gaps[-1] += piece
            continue
        before, _, behind = piece.partition(source)
        gaps[-1] += before
        sources.append(source)
        gaps.append(behind)
    if not sources:
        return Passage(("",), (*gaps, ""))
    return Passage(tuple(sources), tuple(gaps), moves_pictures="symbols" in carried)
