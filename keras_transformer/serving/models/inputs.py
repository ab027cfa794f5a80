"""A request's arrays as rows that a translator can batch: texts become ids, and those that are too
long are refused.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, Signature
from keras_transformer.config.sentence_marks import Begins, SentenceMarks, TaggedText
from keras_transformer.markup.terms import Glossary
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.phrases import PhraseError, that_fit
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.models.arrays import check_lengths
from keras_transformer.serving.models.row_terms import RowTerms
from keras_transformer.serving.models.rows import (
    ANY_BYTES,
    GLOSSARY,
    REQUIRE,
    Arrays,
    Own,
    PairRow,
    Request,
    TranslationRow,
    length_options,
    own_of,
    own_options,
    placed,
)
from keras_transformer.text.passage import Passage, UnknownLetters
from keras_transformer.text.sentences import TooManyPartsError
from keras_transformer.text.subwords.slots import Lift, Required
from keras_transformer.translation.text_ids import TextIds

Tokenize = Callable[[list[bytes]], list[list[int]]]


class RowReader:
    """Makes rows from arrays.

    Args:
        source: SentencePiece's encoder of the source side, bytes to ids.
        target: Texts and ids of the target side.
        lift_with: Returns a function that finds a request's terms, beside the server's, in its
            texts.
        split: Splits a text to translate; takes a `lift` of its own.
        take_whole: Makes one part of a text to score.
        search: The server's search.
        limits: The model's limits.
        max_source_length: Most tokens of a source text, without marks and eos.
        max_target_length: Most tokens of a target text to score, likewise.
        marks: The model's ids around texts.
        languages: The languages of texts that name none, each None for the model's default.
        unknown_letters: Returns the letters of a text that the vocabulary lacks; words of these
            alone are copied without the model. None to translate them.
    """

    def __init__(
        self,
        *,
        source: Tokenize,
        target: TextIds,
        lift_with: Callable[[Glossary], Lift | None],
        split: Callable[..., Passage],
        take_whole: Callable[..., Passage],
        search: SearchOptions,
        limits: ModelLimits,
        max_source_length: int,
        max_target_length: int,
        marks: SentenceMarks,
        languages: tuple[str | None, str | None],
        unknown_letters: UnknownLetters | None,
    ) -> None:
        self._source, self._target, self._search = source, target, search
        self._terms = RowTerms(lift_with)
        self._split, self._take_whole = split, take_whole
        self._limits = limits
        self._longest_source, self._longest_target = max_source_length, max_target_length
        self._marks, self._languages = marks, languages
        # The same around all texts, unless these choose languages.
        self._begins = None if marks.languages else marks.begins()
        self._unknown_letters = unknown_letters
        self._readers: dict[str, Callable[[Arrays], Request]] = {
            DEFAULT_SIGNATURE: self._texts,
            "translate_n_best": self._texts_with_options,
            "translate_sentences": self._sentences,
            "encode": self._whole_texts,
            "score": self._pairs,
            "translate_ids": self._ids,
            "translate_with_options": self._texts_with_options,
            "translate_between": self._texts_between,
        }

    def read(self, signature: Signature, inputs: Arrays) -> Request:
        """Returns a row for each row of arrays that have passed `check_inputs`.

        A text to translate gets a row for each of its parts.

        Raises:
            ServingError: A text is too long, or has too many sentences.
        """
        return self._readers[signature.name](inputs)

    def read_text(
        self,
        text: str,
        target_prefix: str = "",
        languages: tuple[str, str] = ("", ""),
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> Request:
        """Returns the rows of one text to translate.

        Args:
            text: The text.
            target_prefix: What its translation begins with.
            languages: Codes of its language and of that to translate into; "" for the default.
            own: As for `Streaming.read_text`.

        Raises:
            ServingError: It is too long, the model does not know a language, or a line is no term.
        """
        search = self._search
        options = (target_prefix.encode(), search.max_length, search.length_penalty)
        source, target = (code.encode() for code in languages)
        asked = {name: value for name, value in own.items() if name != GLOSSARY.name}
        return self._parts(
            [text.encode()],
            [options],
            [(source, target)],
            [own_of(asked, search)] if asked else None,
            [self._terms.lift(own.get(GLOSSARY.name, ()), GLOSSARY.name)],
        )

    def read_texts(
        self,
        texts: Sequence[str],
        languages: tuple[str, str],
        lift: Lift | None,
        own: Mapping[str, Any],
    ) -> Request:
        """Returns the rows of texts to translate.

        Args:
            texts: The texts.
            languages: Codes of their language and of that to translate into; "" for the default.
            lift: What finds the spans in them; None for the server's.
            own: Fields of `SearchOptions` that the request sets.

        Raises:
            ServingError: One is too long, an option is out of range, or the model does not know a
                language.
        """
        count = len(texts)
        source, target = (code.encode() for code in languages)
        return self._parts(
            [text.encode() for text in texts],
            languages=[(source, target)] * count,
            own=[own_of(own, self._search) if own else ()] * count,
            lifts=[lift] * count,
        )

    def _texts(self, inputs: Arrays) -> Request:
        return self._parts(inputs["text"].tolist())

    def _sentences(self, inputs: Arrays) -> Request:
        return self._parts(inputs["text"].tolist(), attributes=False)

    def _texts_with_options(self, inputs: Arrays) -> Request:
        texts = inputs["text"].tolist()
        prefixes = [b""] * len(texts)
        if "target_prefix" in inputs:
            prefixes = inputs["target_prefix"].tolist()
        least = min(self._limits.target_begins + 1, self._search.max_length)
        lengths = length_options(inputs, self._search, len(texts))
        options = [
            (prefix, max(max_length, least), penalty)
            for prefix, (max_length, penalty) in zip(prefixes, lengths, strict=True)
        ]
        own = own_options(inputs, self._search, len(texts))
        return self._parts(texts, options, own=own, lifts=self._terms.lifts(inputs, len(texts)))

    def _texts_between(self, inputs: Arrays) -> Request:
        names = ("source_language", "target_language")
        languages = list(zip(*(inputs[name].tolist() for name in names), strict=True))
        return self._parts(inputs["text"].tolist(), languages=languages)

    def _untagged(
        self, texts: list[bytes], languages: Sequence[tuple[bytes, bytes]] | None = None
    ) -> tuple[list[TaggedText], list[Begins]]:
        """Returns texts without tags, and the marks of each; a tag wins over its target language.

        Bytes that are not UTF-8 are kept as `ANY_BYTES` has it.
        """
        if self._begins is not None and languages is None:
            return [TaggedText(text.decode(*ANY_BYTES)) for text in texts], [self._begins] * len(
                texts
            )
        tagged, begins = [], []
        for number, text in enumerate(texts):
            codes = (b"", b"") if languages is None else languages[number]
            source, target = (
                code.decode(errors="replace") or default
                for code, default in zip(codes, self._languages, strict=True)
            )
            try:
                found = self._marks.read_tag(text.decode(*ANY_BYTES))
                begins.append(self._marks.begins(source, found.language or target))
            except ValueError as error:
                raise refusal(f"row {number}: {error}") from error
            tagged.append(found)
        return tagged, begins

    def _parts(
        self,
        texts: list[bytes],
        options: Sequence[tuple[bytes, int, float]] | None = None,
        languages: Sequence[tuple[bytes, bytes]] | None = None,
        own: Sequence[Own] | None = None,
        lifts: Sequence[Lift | None] | None = None,
        attributes: bool = True,
    ) -> Request:
        """Returns the parts of all texts; a prefix begins a text's first one.

        Options of a text are its prefix, longest translation and length penalty; those of the
        server if None.
        """
        search = self._search
        options = options or [(b"", search.max_length, search.length_penalty)] * len(texts)
        tagged, begins = self._untagged(texts, languages)
        lifts = lifts or [None] * len(tagged)
        passages = [
            self._take_apart(number, one, lift)
            for number, (one, lift) in enumerate(zip(tagged, lifts, strict=True))
        ]
        passages = [
            one
            if attributes and not (own and dict(own[number]).get(REQUIRE.name))
            else one.without_attributes()
            for number, one in enumerate(passages)
        ]
        parts = [part.encode(*ANY_BYTES) for passage in passages for part in passage.parts]
        sources = self._source(parts)
        owners = [number for number, passage in enumerate(passages) for _ in passage.parts]
        aligned = [part for passage in passages for part in passage.aligned]
        required = [forms for passage in passages for forms in passage.required]
        check_lengths("text", map(len, sources), self._longest_source, owners)
        rows = []
        for place, (source, owner) in enumerate(zip(sources, owners, strict=True)):
            prefix, max_length, length_penalty = options[owner]
            is_first = place == 0 or owners[place - 1] != owner
            given = b""
            if prefix and is_first:
                given = passages[owner].bare(prefix.decode(*ANY_BYTES)).encode(*ANY_BYTES)
            row = self._row(source, given, max_length, length_penalty, begins[owner])
            row = row._replace(aligned=aligned[place])
            if own:
                row = row._replace(own=placed(own[owner], place))
            asked = dict(row.own).get(REQUIRE.name, ())
            if asked and len(passages[owner].parts) > 1:
                raise refusal(
                    f"row {owner} has {len(passages[owner].parts)} sentences, and require does not "
                    "say which of them must hold its phrases: give one sentence a text."
                )
            if asked or required[place]:
                row = self._with_phrases(row, asked, required[place], owner)
            rows.append(row)
        return Request(rows, passages)

    def _take_apart(self, number: int, tagged: TaggedText, lift: Lift | None) -> Passage:
        own = {} if lift is None else {"lift": lift}
        try:
            tagged.text.encode()
        except UnicodeEncodeError:
            # SentencePiece replaces invalid bytes in another way than Python.
            passage = self._take_whole(tagged.text, **own)
        else:
            try:
                passage = self._split(tagged.text, **own)
            except TooManyPartsError as error:
                raise refusal(f"row {number} of text: {error}") from error
        return dataclasses.replace(passage, lead=tagged.tag, unknown_letters=self._unknown_letters)

    def _whole_texts(self, inputs: Arrays) -> Request:
        tagged, begins = self._untagged(inputs["text"].tolist())
        sources = self._source([one.text.encode(*ANY_BYTES) for one in tagged])
        check_lengths("text", map(len, sources), self._longest_source)
        return Request(self._plain_rows(sources, begins))

    def _plain_rows(
        self, sources: Sequence[Sequence[int]], begins: Sequence[Begins]
    ) -> list[TranslationRow]:
        """Returns rows with the server's options."""
        search = self._search
        return [
            TranslationRow(source, (), search.max_length, search.length_penalty, own)
            for source, own in zip(sources, begins, strict=True)
        ]

    def _row(
        self,
        source: Sequence[int],
        prefix: bytes,
        max_length: int,
        length_penalty: float,
        begins: Begins,
    ) -> TranslationRow:
        row = TranslationRow(source, (), max_length, length_penalty, begins)
        if not prefix:
            return row
        # At least one token is left for the translation itself.
        return row._replace(prefix=self._target.encode([prefix])[0][: self._room(row) - 1])

    def _with_phrases(
        self, row: TranslationRow, asked: Sequence[str], terms: Required, number: int
    ) -> TranslationRow:
        """Returns a row with what is required, and the terms that there is room for beside it."""
        options = row.adapt(self._search)
        if options.sample:
            raise refusal(
                f"row {number}: the terms of a glossary do not go with sample, by a model without "
                "slots: leave it out."
            )
        room = self._room(row)
        try:
            phrases = self._target.phrases(asked)
            if phrases:
                self._limits.check_phrases([phrases], [row.source], options, [room], [()])
        except PhraseError as error:
            raise refusal(f"row {number}: the phrases of require {error.reason}") from error
        except ValueError as error:
            raise refusal(f"row {number}: {error}") from error
        more = self._target.terms(terms)
        return row._replace(phrases=that_fit(phrases, more, room, options))

    def _room(self, row: TranslationRow) -> int:
        """Returns the most tokens of a translation behind its prefix, its end token included."""
        marked = len(row.begins.source) + len(row.source) + 1
        limit = min(row.max_length, self._limits.longest_translation(self._search, marked))
        return limit - len(row.begins.target) - len(row.prefix)

    def _ids(self, inputs: Arrays) -> Request:
        special, vocabulary = self._limits.special_ids, self._limits.source_vocab_size
        unknown, never = special.substitute, special.without_text
        rows = []
        for row in inputs["source_ids"].tolist():
            length = row.index(special.pad) if special.pad in row else len(row)
            rows.append(
                [
                    unknown if token in never or not 0 <= token < vocabulary else token
                    for token in row[:length]
                ]
            )
        check_lengths("source_ids", map(len, rows), self._longest_source)
        _, begins = self._untagged([b""] * len(rows))
        return Request(self._plain_rows(rows, begins))

    def _pairs(self, inputs: Arrays) -> Request:
        tagged, begins = self._untagged(inputs["source"].tolist())
        passages = [
            dataclasses.replace(self._take_whole(one.text), unknown_letters=self._unknown_letters)
            for one in tagged
        ]
        pairs = zip(passages, inputs["target"].tolist(), strict=True)
        targets = self._target.encode(
            [one.bare(text.decode(*ANY_BYTES)).encode(*ANY_BYTES) for one, text in pairs]
        )
        check_lengths("target", map(len, targets), self._longest_target)
        sources = self._source([one.parts[0].encode(*ANY_BYTES) for one in passages])
        check_lengths("source", map(len, sources), self._longest_source)
        return Request([PairRow(*row) for row in zip(sources, targets, begins, strict=True)])
