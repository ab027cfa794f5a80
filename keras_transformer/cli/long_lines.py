"""Splitting, cutting or refusing lines that are too long or have several sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from keras_transformer.markup.casing import Casing
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.terms import Glossary, Term, TermUse
from keras_transformer.search.model_limits import MAX_SOURCE_LENGTH, TooLongError
from keras_transformer.text.letterless import Letterless
from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator


@dataclass(frozen=True, kw_only=True)
class LineOptions:
    """How to treat lines that are too long or have several sentences.

    Args:
        max_source_length: Most tokens translated as one text.
        long_lines: "split" translates sentence by sentence (as many together as the model was
            trained on) and halves longer ones; "refuse" ends with an error that names the line;
            "cut" drops the end of the line and says so.
        language: Code of the source language (ISO 639-1), whose abbreviations --long-lines split
            then knows.
        letterless: Text without letters (numbers, list markers, runs of symbols): "copy" keeps it
            out of the model, "translate" lets the model translate it; "auto" copies the kinds found
            in fewer than one in a hundred training lines, or all kinds if that is unknown. Except
            with "translate", words in letters that the vocabulary lacks are copied, too.
        markup: Profile of the spans (tags, placeholders and the like) that translations keep; the
            run's if not given, "plain" for no spans. For models that were trained without --markup
            they are put back by attention.
        glossary: File of terms, each line a source term, a tab and the target term that
            translations hold if the text holds the source term.
        terms: "hard" for terms that must occur, "soft" for terms that the model reads beside the
            words of the text and may inflect, "both" for both; the last two need a model trained
            with --soft-terms. Hard if not given.
        keep: Terms that translations hold as they are.
        casing: "recase" translates a text in capitals as a sentence and puts its translation in
            capitals; "keep" leaves it as it is, and so does "auto" if one in a hundred of the
            model's training lines was in capitals.
    """

    max_source_length: int = MAX_SOURCE_LENGTH
    long_lines: Literal["refuse", "cut", "split"] = "split"
    language: str = "en"
    letterless: Letterless = "auto"
    markup: Profile | None = None
    glossary: Path | None = None
    terms: TermUse | None = None
    keep: tuple[str, ...] = ()
    casing: Casing = "auto"

    @property
    def limits(self) -> dict[str, Any]:
        """Arguments of either translator."""
        cuts = self.long_lines == "cut"
        return {
            "max_source_length": self.max_source_length,
            "long_texts": "cut" if cuts else "refuse",
            "letterless": self.letterless,
            "markup": self.markup,
            "glossary": self._listed(),
            "terms": self.terms,
            "casing": self.casing,
        }

    def _listed(self) -> Glossary | None:
        listed = Glossary.read(self.glossary).terms if self.glossary else ()
        terms = (*(Term(one, one, has_case=True) for one in self.keep), *listed)
        return Glossary(terms) if terms else None

    def wrap(self, translator: TextTranslator) -> TextTranslator | SentenceTranslator:
        """Returns the translator as it is, or one that splits."""
        if self.long_lines == "split":
            return SentenceTranslator(translator, language=self.language)
        return translator

    def cut_lines(
        self, translator: Any, block: Sequence[str], first: int
    ) -> Iterator[tuple[int, int, int]]:
        """Yields number and tokens of each line of a block that is cut, and how many are read.

        Args:
            translator: What `wrap` returned.
            block: The lines.
            first: Number of the first of them, counted from 1.
        """
        if self.long_lines != "cut":
            return
        limit = translator.max_source_length
        for number, tokens in enumerate(translator.source_lengths(block), start=first):
            if tokens > limit:
                yield number, tokens, limit


def places_taken(translator: TextTranslator | SentenceTranslator, lines: Sequence[str]) -> int:
    """Returns how many inputs of the translator the lines make up; samples are numbered by
    inputs.
    """
    if isinstance(translator, SentenceTranslator):
        return translator.count_parts(lines)
    return len(lines)


def describe(error: TooLongError, line: int) -> str:
    """Says which line is too long, and what to do about it."""
    return (
        f"line {line} of the input has {error.tokens} tokens, more than the {error.limit} allowed: "
        "use --long-lines split or cut, or raise --max-source-length where the model allows it."
    )
