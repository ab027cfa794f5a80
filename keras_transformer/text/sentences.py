"""Takes a text and returns the parts to translate, for a model trained on single sentences, and the
space between them. Needs no TensorFlow.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import sentencex

LANGUAGE = "en"
_LINE_BREAKS = re.compile("([\n\r\v\f\x1c-\x1e\x85\u2028\u2029]+)")
_LETTER = re.compile(r"[^\W\d_]")
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


@dataclass(frozen=True)
class Passage:
    """A text taken apart; gaps and parts, in turn, are the text.

    Attributes:
        parts: What is translated, without surrounding space; one empty part if the text is blank.
        gaps: The space before each part and after the last one, line breaks included.
        lead: What stood before all that and is no text, such as the tag of a language.
    """

    parts: tuple[str, ...]
    gaps: tuple[str, ...]
    lead: str = ""

    @property
    def starts(self) -> list[int]:
        """Where each part begins in the text, in characters."""
        sizes = [len(gap) + len(part) for gap, part in zip(self.gaps, self.parts, strict=False)]
        behind = itertools.accumulate(sizes)
        lead = len(self.lead)
        return [lead + end - len(part) for end, part in zip(behind, self.parts, strict=True)]

    @classmethod
    def whole(cls, text: str) -> "Passage":
        """Returns a text as one part."""
        return cls((text,), ("", ""))

    def join(self, translations: Sequence[str]) -> str:
        """Returns the translated text, in the layout of the source.

        Args:
            translations: One of each part.

        Raises:
            ValueError: There are not as many translations as parts.
        """
        gaps = self.gaps_between(translations)
        return gaps[0] + "".join(map("".join, zip(translations, gaps[1:], strict=True)))

    def gaps_between(self, translations: Sequence[str]) -> list[str]:
        """Returns the space before each translation and after the last one; see `gap_before`.

        Raises:
            ValueError: There are not as many translations as parts.
        """
        if len(translations) != len(self.parts):
            raise ValueError(f"got {len(translations)} translations for {len(self.parts)} parts.")
        gaps = []
        said = ""
        for gap, translation in zip(self.gaps[:-1], translations, strict=True):
            gaps.append(gap_before(translation, gap, said))
            said = translation or gaps[-1] or said
        return [*gaps, self.gaps[-1]]


def gap_before(translation: str, gap: str, said: str) -> str:
    """Returns the space before a part's translation.

    Where the source has no space between two parts, as in Chinese, the translation gets one unless
    its own script is as wide.

    Args:
        translation: The part's translation, or how it begins.
        gap: The space before the part itself.
        said: The translation so far, or how it ends; "" at the beginning.
    """
    return gap if gap or not said or not translation or _is_wide(said[-1]) else " "


def split_sentences(text: str, language: str = LANGUAGE) -> list[str]:
    """Returns the sentences of a text, which joined are the text.

    A line break ends a sentence. A piece without a letter, such as the number of a list's entry,
    belongs to the sentence after it; the space between two sentences belongs to the first.

    Args:
        text: Any text; a blank one is one sentence.
        language: Code of its language (ISO 639-1), for abbreviations and marks; one that the
            library does not know is treated as English.
    """
    sentences: list[str] = []
    for line in _lines(text):
        pieces = sentencex.segment(language, line) if line.strip() else [line]
        # What does not come back whole is not taken apart.
        sentences += _with_letters(pieces if "".join(pieces) == line else [line])
    return sentences or [""]


def split_passage(
    text: str,
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    *,
    most_tokens: int | None = None,
    most_sentences: int = 1,
    most_parts: int | None = None,
    language: str = LANGUAGE,
) -> Passage:
    """Takes a text apart into parts that a model can translate.

    Args:
        text: The text.
        lengths_of: Gives the number of tokens of each of several texts.
        most_tokens: Longest part. A longer sentence is halved after a clause, after a word or, if
            there is neither, after a character, until its parts are short enough. No limit if None.
        most_sentences: Most sentences of a line that stay together, if they are short enough.
        most_parts: Most parts of the text; no limit if None.
        language: As for `split_sentences`.

    Raises:
        TooManyPartsError: The text has more than `most_parts`; raised as soon as they are found.
    """
    pieces: list[str] = []
    parts = 0
    halved_to = None
    for line in _lines(text):
        sentences = split_sentences(line, language)
        lengths = lengths_of(sentences)
        bound = sum(lengths) if most_tokens is None else most_tokens
        for group, tokens in _groups(sentences, lengths, bound, most_sentences):
            for piece in _halved(group, tokens, lengths_of, bound):
                pieces.append(piece)
                parts += bool(piece.strip())
                if piece != group:
                    halved_to = most_tokens
                if most_parts is not None and parts > most_parts:
                    raise TooManyPartsError(most_parts, halved_to)
    return _passage(pieces)


def _lines(text: str) -> list[str]:
    """Returns the lines, each with its line break."""
    parts = [*_LINE_BREAKS.split(text), ""]
    return [line + end for line, end in zip(parts[::2], parts[1::2], strict=True) if line or end]


def _with_letters(pieces: Sequence[str]) -> list[str]:
    """Joins each piece without a letter with the next, or at the end with the one before."""
    found: list[str] = []
    waiting = ""
    for piece in pieces:
        waiting += piece
        if _LETTER.search(piece):
            found.append(waiting)
            waiting = ""
    if waiting and found:
        found[-1] += waiting
    return found or [waiting]


def _groups(
    sentences: Sequence[str], lengths: Sequence[int], most_tokens: int, most_sentences: int
) -> Iterator[tuple[str, int | None]]:
    """Yields as many sentences together as allowed, and the length of those that remain single."""
    group: list[str] = []
    tokens = 0
    for sentence, length in zip(sentences, lengths, strict=True):
        if group and (len(group) == most_sentences or tokens + length > most_tokens):
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
) -> Iterator[str]:
    """Yields the text, which has `length` tokens, in equal parts until each is short enough."""
    if tokens is None:
        tokens = lengths_of([text])[0]
    if tokens <= most_tokens or len(text.strip()) < 2:
        yield text
        return
    middle = _middle(text)
    for half in (text[:middle], text[middle:]):
        # What is much too long by its share of the whole need not be tokenized again.
        share = tokens * len(half) // len(text)
        known = share if share > 2 * most_tokens else None
        yield from _halved(half, known, lengths_of, most_tokens)


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


def _passage(pieces: Sequence[str]) -> Passage:
    """Moves the space around pieces into gaps; a blank piece is all space."""
    parts: list[str] = []
    gaps = [""]
    for piece in pieces:
        part = piece.strip()
        if not part:
            gaps[-1] += piece
            continue
        before, _, behind = piece.partition(part)
        gaps[-1] += before
        parts.append(part)
        gaps.append(behind)
    return Passage(tuple(parts), tuple(gaps)) if parts else Passage(("",), (*gaps, ""))


def _is_wide(character: str) -> bool:
    return unicodedata.east_asian_width(character) in ("W", "F")
