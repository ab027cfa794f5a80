"""The token ids that are not text: one value of a model's config, read from its tokenizer."""

import dataclasses
import functools
from typing import Any

from keras_transformer.config.checks import check_size, make_numbers_plain

# What a vocabulary may lack.
_OPTIONAL = ("unk", "bos", "mask", "cls")
# Parts of a text.
_IN_TEXT = ("slots", "term_marks")


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpecialIds:
    """The ids with a special meaning; the defaults are those of vocabularies trained here.

    Args:
        pad: Fills rows of a batch up to its length.
        unk: Replaces text that the vocabulary cannot represent; None if it can represent any.
        bos: Begins a sentence; None if the vocabulary has no such piece.
        eos: Ends a sentence.
        decoder_start: The decoder's first input; bos if None, or eos if there is no bos.
        mask: Stands for a token to be filled in; None if the vocabulary has no such piece.
        cls: Ends the row of an encoder, behind the last eos, and is where a whole text is read
            (XLNet); None if rows end with eos and are read at their first token.
        slots: Stand for spans of a text; part of a text, of which a search writes each one that the
            source has exactly once. Empty if the vocabulary has no such pieces.
        term_marks: Stand around the translations of terms in a source, and are never generated.
            Empty if the vocabulary has no such pieces.

    Raises:
        ValueError: An id is negative, or two of pad, unk, bos, eos, mask, cls, slots and term_marks
            are equal.
        TypeError: An id is not an integer.

    Example:
        >>> SpecialIds(pad=3, unk=0, bos=1, eos=2).decoder_start
        1
    """

    pad: int = 0
    unk: int | None = 1
    bos: int | None = 2
    eos: int = 3
    # None only as an argument: `__post_init__` always sets an integer.
    decoder_start: int = None  # type: ignore[assignment]
    mask: int | None = None
    cls: int | None = None
    slots: tuple[int, ...] = ()
    term_marks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        for name in _IN_TEXT:
            object.__setattr__(self, name, tuple(map(int, getattr(self, name))))
        if self.decoder_start is None:
            start = self.eos if self.bos is None else self.bos
            object.__setattr__(self, "decoder_start", start)
        pieces = self._without_text()
        for name, token in pieces.items():
            if token is not None or name not in _OPTIONAL:
                check_size(f"special id {name}", token, least=0)
        del pieces["decoder_start"]
        in_text = {name: getattr(self, name) for name in _IN_TEXT if getattr(self, name)}
        others = [token for tokens in in_text.values() for token in tokens]
        given = [token for token in pieces.values() if token is not None] + others
        if len(set(given)) < len(given):
            raise ValueError(
                f"{', '.join([*pieces, *in_text])} must be different ids, got "
                f"{', '.join(map(str, [*pieces.values(), *others]))}."
            )

    @functools.cached_property
    def without_text(self) -> frozenset[int]:
        """The ids that are left out of a text."""
        return frozenset(token for token in self._without_text().values() if token is not None)

    @property
    def row_ends(self) -> tuple[int, ...]:
        """What ends an encoder's row: eos, and cls if there is one."""
        return (self.eos,) if self.cls is None else (self.eos, self.cls)

    @property
    def substitute(self) -> int:
        """What stands in a row for an id that no text has: unk, or eos if there is none."""
        return self.eos if self.unk is None else self.unk

    @functools.cached_property
    def never_generated(self) -> frozenset[int]:
        """The ids that no search generates: all that are not text, except eos and unk, and the
        marks of terms.
        """
        return (self.without_text - {self.eos, self.unk}).union(self.term_marks)

    @property
    def added_to_text(self) -> frozenset[int]:
        """The ids that batching adds to those of a text, which must not contain them."""
        return self.without_text - {self.unk, self.mask}

    def text_ids(self, vocab_size: int) -> list[int]:
        """Returns the ids of a vocabulary that are text."""
        return [token for token in range(vocab_size) if token not in self.without_text]

    @property
    def highest(self) -> int:
        """The largest id."""
        return max(self.without_text)

    def to_dict(self) -> dict[str, Any]:
        """Returns the ids as plain JSON values; mask, cls, slots and marks only if there are."""
        in_text = {name: list(getattr(self, name)) for name in _IN_TEXT if getattr(self, name)}
        return {**self._without_text(), **in_text}

    def _without_text(self) -> dict[str, Any]:
        ids = dataclasses.asdict(self)
        for name in _IN_TEXT:
            del ids[name]
        return {
            name: token
            for name, token in ids.items()
            if token is not None or name not in ("mask", "cls")
        }
