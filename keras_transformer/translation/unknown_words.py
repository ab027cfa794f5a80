"""Word alignments by attention, and source words in the place of unknown tokens."""

import bisect
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.text.subwords.interface import Placed, Subwords

Attention = npt.NDArray[np.float32]
CharacterSpan = tuple[int, int]  # First character and the one after the last.


def aligned_source(
    attention: Attention, target_ids: Sequence[int], eos_id: int
) -> npt.NDArray[np.int64]:
    """Returns the source position that each target token attends to most.

    The source's eos, its last position, is chosen for eos only: other tokens attend to it if they
    find nothing better. The first of equal weights counts.

    Args:
        attention: float32 `(target_length, source_length)`, the source's eos included and its
            padding cut off.
        target_ids: Ids of the target tokens, `(target_length,)`; eos may stand among them.
        eos_id: Id of eos on the target side.

    Returns:
        int64 `(target_length,)`.

    Raises:
        ValueError: The attention has another shape, or the source is eos alone and the target has
            tokens.
    """
    ends = np.asarray(target_ids, np.int64) == eos_id
    if attention.ndim != 2 or len(attention) != len(ends) or not attention.shape[1]:
        raise ValueError(
            f"attention must be (target_length, source_length) with {len(ends)} target tokens, "
            f"got the shape {attention.shape}."
        )
    if attention.shape[1] == 1 and not ends.all():
        raise ValueError("attention has one source position, eos: no token can come from it.")
    weights = attention.copy()
    weights[~ends, -1] = -np.inf
    places: npt.NDArray[np.int64] = weights.argmax(axis=1)
    return places


def words_of(pieces: Sequence[str]) -> list[int]:
    """Returns the number of the word that each piece belongs to, counted from 0.

    Args:
        pieces: Parts of a text without bos and eos; a space at the start of one begins a word, as
            does the first piece. A language written without spaces is one word.

    Example:
        >>> words_of([" the", " hou", "se", "."])
        [0, 1, 1, 1]
    """
    words, word = [], -1
    for piece in pieces:
        if piece[:1].isspace() or word < 0:
            word += 1
        words.append(word)
    return words


def words_in(text: str, placed: Sequence[Placed]) -> list[int]:
    """Returns the number of the word of a text that each of its tokens begins in, counted from 0.

    Args:
        text: The text; its words are those of `text.split()`.
        placed: Its tokens.

    Example:
        >>> words_in("don´t go", [Placed(" don", 0, 3, False), Placed(" ´t", 3, 5, False)])
        [0, 0]
    """
    starts = [found.start() for found in re.finditer(r"\S+", text)]
    return [max(0, bisect.bisect_right(starts, one.start) - 1) for one in placed]


def aligned_words(
    attention: Attention,
    target_ids: Sequence[int],
    eos_id: int,
    *,
    source_words: Sequence[int],
    target_pieces: Sequence[str],
) -> list[tuple[int, int]]:
    """Returns which words of a source the words of a translation come from.

    Words are separated by spaces and counted from 0. A target word comes from the source words
    that its pieces attend to most.

    Args:
        attention: float32 `(target_length, source_length)`, the source's eos included and its
            padding cut off.
        target_ids: Ids of the target tokens, `(target_length,)`; eos may stand among them.
        eos_id: Id of eos on the target side.
        source_words: The number of the word of each source token, eos excluded.
        target_pieces: The part of the translation of each target id, as for `words_of`; "" for one
            without text.

    Returns:
        Pairs (source word, target word) in ascending order, each once.

    Raises:
        ValueError: The attention has another shape, or the source is eos alone and the target has
            tokens.

    Example:
        >>> aligned_words(np.eye(3), [7, 8], 3, source_words=[0, 1], target_pieces=[" c", "d"])
        [(0, 0), (1, 0)]
    """
    if not any(map(_has_text, target_pieces)):
        return []
    places = aligned_source(attention[: len(target_ids)], target_ids, eos_id)
    targets = _text_words(target_pieces)
    return sorted(
        {
            (source_words[place], word)
            for place, word, piece in zip(places.tolist(), targets, target_pieces, strict=True)
            if _has_text(piece)
        }
    )


class SourceWords:
    """A source text's pieces and words as they stand in it, before any normalization.

    Args:
        text: The source text.
        subwords: Vocabulary of the source side.

    Attributes:
        pieces: The text's parts, without eos, as for `words_of`.
    """

    def __init__(self, text: str, subwords: Subwords) -> None:
        placed = subwords.place(text)
        self.pieces = [one.spelling for one in placed]
        self._unknown = [one.is_unknown for one in placed]
        self._spans = [(one.start, one.end) for one in placed]
        self._text = text
        self._numbers = words_of(self.pieces)
        self._words: list[CharacterSpan] = []
        for (start, end), number in zip(self._spans, self._numbers, strict=True):
            if number == len(self._words):
                self._words.append((start, end))
            else:
                self._words[number] = (self._words[number][0], end)

    def word(self, position: int) -> CharacterSpan:
        """Returns the span of the word of the piece at `position`, without the punctuation around
        it; for a piece of that punctuation, the span of the piece itself.
        """
        start, end = self._words[self._numbers[position]]
        left, right = start, end
        while left < right and _is_punctuation(self._text[left]):
            left += 1
        while right > left and _is_punctuation(self._text[right - 1]):
            right -= 1
        if left == right:
            return start, end
        first, last = self._spans[position]
        if first < last and (last <= left or first >= right):
            return first, last
        return left, right

    def unknown_part(self, position: int) -> CharacterSpan | None:
        """Returns the span of the piece at `position` if it is an unknown part of a word; None if
        it is known or the whole word.
        """
        span = self._spans[position]
        return span if self._unknown[position] and span != self.word(position) else None


def replace_unknown(
    target_ids: Sequence[int],
    attention: Attention,
    text: str,
    *,
    source: Subwords,
    target: Subwords,
) -> str:
    """Returns a translation's text with source words in place of unknown tokens.

    Each unknown token becomes the word that it attends to most, spelled as in the source text, and
    neighbours that attend to the same word give it once. If an unknown token adjoins letters of
    its own word, and the source piece that it attends to most is also the unknown part of a word
    ("Ł" in "Łukasz"), only that part is taken, so that the word is not spelled twice.

    Args:
        target_ids: The translation's ids, `(target_length,)`; bos, eos and pad have no text.
        attention: float32 `(target_length, source_length)`, source eos included, padding cut off.
        text: The source text.
        source: Vocabulary of the source side.
        target: Vocabulary of the target side.

    Raises:
        ValueError: The attention does not fit the translation or the source text.
    """
    special_ids = target.special_ids
    unknown = special_ids.unk
    stream = target.stream(special_ids.without_text - {unknown})
    if unknown is None or unknown not in target_ids:
        return "".join(map(stream.add, target_ids)) + stream.finish()
    words = SourceWords(text, source)
    if attention.shape[1:] != (len(words.pieces) + 1,):
        raise ValueError(
            f"attention must have {len(words.pieces) + 1} source positions, the text's pieces and "
            f"eos, got the shape {attention.shape}."
        )
    positions = aligned_source(attention, target_ids, special_ids.eos).tolist()
    [surface] = target.decode([[unknown]])
    following = [*map(target.spelling, target_ids[1:]), ""]
    written = _Written()
    for token, position, after in zip(target_ids, positions, following, strict=True):
        known = stream.add(token)
        if token != unknown:
            written.known(known)
            continue
        # Bytes that were held back come before the unknown token's own text.
        written.known(known.removesuffix(surface))
        part = words.unknown_part(position)
        if part and (written.ends_with_letter or after[:1].isalnum()):
            written.part(text[slice(*part)])
        else:
            word = words.word(position)
            written.word(word, text[slice(*word)])
    written.known(stream.finish())
    return written.text


class _Written:
    """The text written so far; separates source words from the letters around them."""

    def __init__(self) -> None:
        self.text = ""
        self._last_word: CharacterSpan | None = None  # As long as nothing but spaces follows it.

    @property
    def ends_with_letter(self) -> bool:
        """Whether the text ends in letters of the translation itself."""
        return self._last_word is None and self.text[-1:].isalnum()

    def known(self, text: str) -> None:
        """Adds text of the translation itself."""
        if self._last_word is not None:
            self._set_off(text)
        self.text += text
        if text.strip():
            self._last_word = None

    def part(self, text: str) -> None:
        """Adds characters of a word that the translation spells."""
        self.text += text
        self._last_word = None

    def word(self, span: CharacterSpan, text: str) -> None:
        """Adds a source word, unless it was the last one added."""
        if span == self._last_word:
            self.text = self.text.rstrip()
        else:
            self._set_off(text)
            self.text += text
            self._last_word = span

    def _set_off(self, text: str) -> None:
        if self.text[-1:].isalnum() and text[:1].isalnum():
            self.text += " "


def _has_text(piece: str) -> bool:
    return piece.strip() != ""


def _text_words(pieces: Sequence[str]) -> list[int]:
    """Numbers words as `words_of` does, but none without text: a translation may have several
    spaces in a row.
    """
    words, word, has_text = [], 0, False
    for piece in pieces:
        if piece[:1].isspace() and has_text:
            word, has_text = word + 1, False
        has_text = has_text or _has_text(piece)
        words.append(word)
    return words


def _is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")
