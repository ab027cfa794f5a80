"""The ids that stand around the texts of a translation, beside eos and the decoder's start: where a
model marks languages, or begins every text.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

from keras_transformer.config.checks import check_choice, check_flag, check_size
from keras_transformer.suggestions import did_you_mean

LanguageMarks = Literal["both", "source", "ends"]
_SHOWN = 8
# How Marian's models (>>fra<<) and MADLAD-400 (<2fr>) write the language to translate into, at the
# beginning of a text; Python and TensorFlow read the expression alike.
TAG = r"[ \t\r\n]*(?:>>|<2)([^<> \t\r\n]+)(?:<<|>)[ \t\r\n]*"
_TAG = re.compile(TAG)


class Begins(NamedTuple):
    """The ids around the text of a sentence, beside eos and the decoder's start.

    Attributes:
        source: Those before a source.
        target: Those that a translation begins with, after the decoder's start.
        source_ends: Those behind the eos of a source.
        source_eos: Whether a source has an eos.
    """

    source: tuple[int, ...] = ()
    target: tuple[int, ...] = ()
    source_ends: tuple[int, ...] = ()
    source_eos: bool = True

    @property
    def most(self) -> int:
        """How many stand around a text, on the side that has more."""
        return max(len(self.source) + len(self.source_ends), len(self.target))

    def behind_source(self, eos: int) -> tuple[int, ...]:
        """Returns the ids behind the text of a source."""
        return (eos, *self.source_ends) if self.source_eos else self.source_ends


class TaggedText(NamedTuple):
    """A text that may have begun with a tag of its language.

    Attributes:
        text: What follows the tag.
        tag: The tag with the spaces around it; "" if there was none.
        language: The code in it; None if there was none.
    """

    text: str
    tag: str = ""
    language: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SentenceMarks:
    """The ids that a model of several languages, or one like BART, reads and writes around a text.

    Args:
        source: Ids before each source.
        target: Ids that each translation begins with.
        languages: The id of each language's code; empty if the model has no marks of languages.
        languages_in: Where they stand: in "both", the source's before the source and the target's
            before the translation (mBART-50, M2M100, NLLB); that of the target before the
            "source" (Marian); or at the "ends" of texts, the source's behind its eos and the
            target's as the decoder's start, for one pair of languages (mBART).
        source_eos: Whether a source ends with eos; without, it is nothing but its text
            (OpenNMT-tf).
        source_language: The code taken if none is asked for.
        target_language: Likewise.

    Raises:
        ValueError: A value is out of range, or a default is not among the languages.
        TypeError: An id is not an integer.
    """

    source: tuple[int, ...] = ()
    target: tuple[int, ...] = ()
    languages: Mapping[str, int] = dataclasses.field(default_factory=dict)
    languages_in: LanguageMarks = "both"
    source_eos: bool = True
    source_language: str | None = None
    target_language: str | None = None

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            for token in getattr(self, name):
                check_size(f"marks.{name}", token, least=0)
        check_flag("marks.source_eos", self.source_eos)
        check_choice("marks.languages_in", self.languages_in, get_args(LanguageMarks))
        if not isinstance(self.languages, Mapping):
            raise TypeError(f"marks.languages must be codes and ids, got {self.languages!r}.")
        for code, token in self.languages.items():
            check_size(f"marks.languages[{code!r}]", token, least=0)
        for name in ("source_language", "target_language"):
            if getattr(self, name) is not None:
                self._id(name, getattr(self, name))

    @classmethod
    def of_tags(cls, ids: Mapping[str, int], source: Sequence[int] = ()) -> "SentenceMarks":
        """Returns the marks of a vocabulary whose tags of languages are pieces.

        Args:
            ids: The id of each piece.
            source: Ids before each source, and before its tag.
        """
        languages = {
            found[1]: token for piece, token in ids.items() if (found := _TAG.fullmatch(piece))
        }
        if not languages:
            return cls(source=tuple(source))
        return cls(source=tuple(source), languages=languages, languages_in="source")

    def __hash__(self) -> int:
        languages = tuple(self.languages.items())
        return hash((self.source, self.target, languages, self.languages_in, self.source_eos))

    def behind_source(self, eos: int) -> tuple[int, ...]:
        """Returns the ids behind the text of each source."""
        return self._around().behind_source(eos)

    def _around(self) -> Begins:
        """Returns the marks that are the same whatever languages are asked for."""
        ends: tuple[int, ...] = ()
        if self.languages and self.languages_in == "ends":
            ends = (self._id("source_language", self.source_language),)
        return Begins(self.source, self.target, ends, self.source_eos)

    @property
    def source_begins(self) -> int:
        """How many ids stand before the text of a source."""
        return len(self.source) + (bool(self.languages) and self.languages_in != "ends")

    @property
    def target_begins(self) -> int:
        """How many ids a translation begins with, after the decoder's start."""
        return len(self.target) + (bool(self.languages) and self.languages_in == "both")

    @property
    def ids(self) -> frozenset[int]:
        """All ids that mark something."""
        return frozenset((*self.source, *self.target, *self.languages.values()))

    @property
    def can_choose(self) -> bool:
        """Whether a request may choose a language."""
        return bool(self.languages) and self.languages_in != "ends"

    @property
    def knows_tags(self) -> bool:
        """Whether a text may begin with the tag of the language to translate it into."""
        return bool(self.languages) and self.languages_in == "source"

    @property
    def shown_languages(self) -> str:
        """How many languages there are and the first of them, for messages."""
        known = sorted(self.languages)
        shown = ", ".join(known[:_SHOWN]) + (", ..." if len(known) > _SHOWN else "")
        return f"{len(known)} ({shown})"

    def read_tag(self, text: str) -> TaggedText:
        """Takes the tag of a language, such as `>>fra<<` or `<2fr>`, from a text's beginning.

        Only models that are told the target's language before the source know tags; to others such
        a text is text.

        Raises:
            ValueError: The model does not know the language; the message names those that it does.
        """
        found = _TAG.match(text) if self.knows_tags else None
        if found is None:
            return TaggedText(text)
        self._id("the language in the tag of a text", found[1])
        return TaggedText(text[found.end() :], found[0], found[1])

    def begins(
        self, source_language: str | None = None, target_language: str | None = None
    ) -> Begins:
        """Returns the ids before the texts of a pair of languages.

        Args:
            source_language: A code; the default if None.
            target_language: Likewise.

        Raises:
            ValueError: The model has no languages, or not this one, or one is needed; the message
                names those that it has.
        """
        if not self.languages:
            asked = source_language or target_language
            if asked is not None:
                raise ValueError(
                    f"the model translates between two languages only: leave out {asked!r}."
                )
            return self._around()
        if self.languages_in == "ends":
            self._check_pair(source_language, target_language)
            return self._around()
        target = (self._id("target_language", target_language or self.target_language),)
        if self.languages_in == "source":
            if source_language is not None:
                raise ValueError(
                    f"the model is not told the source's language: leave out {source_language!r}."
                )
            return self._around()._replace(source=(*self.source, *target))
        source = (self._id("source_language", source_language or self.source_language),)
        return self._around()._replace(
            source=(*self.source, *source), target=(*self.target, *target)
        )

    def _check_pair(self, source_language: str | None, target_language: str | None) -> None:
        for name, asked in (
            ("source_language", source_language),
            ("target_language", target_language),
        ):
            chosen = getattr(self, name)
            if asked not in (None, chosen):
                raise ValueError(
                    f"{name} was chosen when the model was imported: it is {chosen!r}, got "
                    f"{asked!r}; import the model for other languages again."
                )

    def _id(self, name: str, code: str | None) -> int:
        if code is not None and code in self.languages:
            return self.languages[code]
        hint = did_you_mean(code, self.languages) or "."
        raise ValueError(f"{name} must be one of {self.shown_languages}, got {code!r}{hint}")

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        return {
            **{field.name: getattr(self, field.name) for field in dataclasses.fields(self)},
            "source": list(self.source),
            "target": list(self.target),
            "languages": dict(self.languages),
        }
