"""A served encoder-decoder, which translates, streams, scores and explains."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy.typing as npt

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.search_signatures import AnswerSizes, server_signatures
from keras_transformer.artefact.signatures import LOWEST, Signature
from keras_transformer.config.family import ENCODER_DECODER
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.markup.lifting import lifter_of
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.required import text_lifter
from keras_transformer.markup.terms import Glossary
from keras_transformer.runtime.onnx_graphs.providers import parse_providers
from keras_transformer.runtime.opening import OpenedArtefact
from keras_transformer.runtime.translation_engine import Engine
from keras_transformer.search.distinct import as_many_as_kept, distinct, filled_up
from keras_transformer.search.keywords import search_options
from keras_transformer.search.options import Candidate, Hypothesis, SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.serving.models.inputs import RowReader
from keras_transformer.serving.models.outputs import (
    Found,
    Outputs,
    ResultWriter,
    check_states,
    hypotheses_of,
)
from keras_transformer.serving.models.rows import (
    GLOSSARY,
    NUM_HYPOTHESES,
    REQUIRE,
    SAMPLING,
    Arrays,
    PairRow,
    Request,
    TranslationRow,
    groups_of,
    with_more,
)
from keras_transformer.serving.models.served import Languages, Run, Translations
from keras_transformer.serving.settings import ServeOptions
from keras_transformer.text.joined_lines import join_lines as joined
from keras_transformer.text.letterless import carried_kinds
from keras_transformer.text.passage import Passage
from keras_transformer.text.subwords.attributes import that_fit
from keras_transformer.translation.by_sentence import splitter
from keras_transformer.translation.engine import TranslationEngine, tokens_of
from keras_transformer.translation.marked import MarkedEngine, without_languages
from keras_transformer.translation.required import search_with_terms
from keras_transformer.translation.results import scored, to_hypotheses, with_attention, with_spans


class ServedModel:
    """The `Served` of an encoder-decoder, which translates; it streams and explains, too.

    Args:
        files: The artefact's files, which are in memory.
        options: The server's options.
        given: Fields of `SearchOptions` for every translation; others are the model's own or
            defaults.

    Attributes:
        config: The model's configuration as plain values.
        search: The search, its `max_length` one that the model allows.
        min_score: The threshold of low confidence; None if neither argument nor artefact gives one.
        signatures: What requests may call, by name.
        graphs: Which of the artefact's graphs run, and why.
        full_answer: The signature, and its output, that give the whole of a streamed answer.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: A file is damaged, or the search does not fit the model.
    """

    full_answer = ("translate_with_options", "translation")

    def __init__(
        self, files: ArtefactFiles, options: ServeOptions, given: Mapping[str, Any]
    ) -> None:
        providers = parse_providers(options.provider)
        opened = OpenedArtefact(
            files,
            ENCODER_DECODER,
            lambda manifest, files: Engine(manifest, files, options.threads, None, None, providers),
        )
        self._engine, (self._source, self._target) = opened.engine, opened.text_ids
        self.graphs = opened.describe()
        manifest, limits = opened.manifest, opened.engine.limits
        self.config: Mapping[str, Any] = manifest.config
        longest = limits.longest_source(options.max_source_length)
        marks = SentenceMarks(**manifest.config.get("marks", {}))
        search = search_options(manifest.search, given)
        languages = search.source_language, search.target_language
        if any(languages):
            marks.begins(*languages)
        search = self._target.with_bans(without_languages(limits.fit(search)))
        self.search, self._limits = search, limits
        self._marks, self._languages, self._is_marked = marks, languages, bool(marks.ids)
        self.min_score = manifest.min_score if options.min_score is None else options.min_score
        special_ids, seen = manifest.special_ids, manifest.training_text
        glossary = Glossary.read(options.glossary) if options.glossary else None
        chosen: Any = {name: getattr(options, name) for name in ("markup", "casing", "terms")}
        lift_with = partial(text_lifter, special_ids, seen, **chosen)
        lift = lift_with(glossary=glossary)
        self._lift_of = cache(lambda profile: lift_with(markup=profile, glossary=glossary))
        spans = lifter_of(special_ids, seen, options.markup, glossary)
        has_flags = self.min_score is not None or spans is not None or glossary is not None
        self.signatures = server_signatures(
            AnswerSizes(
                max_length=search.max_length,
                model_dim=self._engine.model_dim,
                has_min_score=has_flags,
                has_languages=marks.can_choose,
            )
        )
        more = (*SAMPLING, REQUIRE, GLOSSARY)
        own = {"translate_with_options": more, "translate_n_best": (NUM_HYPOTHESES, *more)}
        for name, inputs in own.items():
            self.signatures[name] = with_more(self.signatures[name], *inputs)
        known = seen.known_letterless if seen else None
        carried = carried_kinds(options.letterless, known, lambda: self._source.has_letters)
        split: Callable[..., Passage] = splitter(
            self._lengths,
            longest,
            seen,
            options.language,
            most_parts=options.max_sentences,
            carried=carried,
            lift=lift,
        )
        take_whole = partial(Passage.whole, carried=carried, language=options.language, lift=lift)
        # Only encoders cut texts.
        if options.long_texts == "refuse":
            fitting = partial(that_fit, lengths_of=self._lengths, most_tokens=longest)
            split = partial(take_whole, fitting=fitting)
        copies_nothing = options.letterless == "translate"
        self._reader = RowReader(
            source=self._source.encode,
            target=self._target,
            lift_with=lambda terms: lift_with(glossary=terms.before(glossary)),
            split=(lambda text, **own: split(joined(text), **own)) if options.join_lines else split,
            take_whole=take_whole,
            search=search,
            limits=limits,
            max_source_length=longest,
            max_target_length=limits.longest_target(options.max_source_length),
            marks=marks,
            languages=languages,
            unknown_letters=None if copies_nothing else self._source.unknown_letters,
        )
        self._writer = ResultWriter(
            target=self._target,
            search=search,
            min_score=self.min_score,
            has_flags=has_flags,
            model_dim=self._engine.model_dim,
        )
        self._runs: dict[str, Run] = {
            "score": self._score,
            "encode": self._encoder_states,
            "translate_n_best": self._translate_distinct,
        }

    def close(self) -> None:
        """Releases the graphs; what is running finishes."""
        self._engine.close()

    def warm_up(self) -> None:
        """As `Served.warm_up`."""
        text, most = [self._source.special_ids.substitute], self._limits.target_begins + 2
        length = min(self.search.max_length, most)
        row = TranslationRow(text, (), length, self.search.length_penalty)
        # One text and several take different paths through the engine.
        for rows in ([row], [row] * 2):
            self._translate(rows)
        self._score([PairRow(row.source, row.source)])
        self.stream(row, lambda piece: True)

    @property
    def languages(self) -> Languages:
        """As `Translating.languages`."""
        marks = self._marks
        return Languages(
            tuple(sorted(marks.languages)) if marks.can_choose else (),
            marks.languages_in == "both",
            self._languages[0] or marks.source_language,
            self._languages[1] or marks.target_language,
        )

    @property
    def counts(self) -> dict[str, int]:
        """As `Streaming.counts`."""
        return self._engine.counts

    @property
    def joining(self) -> int:
        """As `Streaming.joining`."""
        return self._engine.joining

    def read(self, signature: Signature, inputs: Arrays) -> Request:
        """Returns a request's rows; see `RowReader.read`, and `check_states` for "encode"."""
        request = self._reader.read(signature, inputs)
        if signature.name == "encode":
            check_states([len(row.source) for row in request.rows], self._engine.model_dim)
        return request

    def read_text(
        self,
        text: str,
        target_prefix: str = "",
        languages: tuple[str, str] = ("", ""),
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> Request:
        """Returns the rows of one text; see `RowReader.read_text`."""
        return self._reader.read_text(text, target_prefix, languages, own)

    def read_texts(
        self,
        texts: Sequence[str],
        languages: tuple[str, str],
        markup: Profile | None,
        count: int,
    ) -> Request:
        """As `Translating.read_texts`."""
        lift = None if markup is None else self._lift_of(markup)
        own = {} if count == 1 else {"num_hypotheses": count}
        return self._reader.read_texts(texts, languages, lift, own)

    def run_texts(self, count: int) -> Run:
        """As `Translating.run_texts`."""
        return self._translate if count == 1 else self._translate_distinct

    def translations(self, request: Request, results: Sequence[Any]) -> Translations:
        """As `Translating.translations`."""
        asked = [dict(row.own).get("num_hypotheses", 1) for row in request.rows]
        found = [own[:count] for own, count in zip(results, asked, strict=True)]
        read = sum(len(row.source) + 1 for row in request.rows)
        written = sum(len(one.ids) + 1 for own in found for one in own)
        best = self._writer.hypotheses(request, found)
        texts = [[one.text for one in own] for own in best]
        doubtful = [bool(own[0].low_confidence) for own in best]
        return Translations(texts, doubtful, read, written)

    def run(self, signature: Signature) -> Run:
        """Returns a function from a signature's rows to results; equal functions share batches."""
        return self._runs.get(signature.name, self._translate)

    def write(self, signature: Signature, request: Request, results: Sequence[Any]) -> Outputs:
        """Returns the arrays of a request's results."""
        return self._writer.write(signature.name, request, results)

    def stream(self, row: TranslationRow, emit: Callable[[str], bool]) -> None:
        """Translates a row greedily and emits each piece of text, until `emit` returns False."""
        options = dataclasses.replace(row.adapt(self.search), beam_size=1, num_hypotheses=1)
        if row.aligned is not None:
            [[best]] = self._restored([row], self._search([row], options))
            emit(best.text)
            return
        engine, phrases = self._engine_for([row]), row.phrases
        tokens = tokens_of(engine, row.source, options, row.prefix, phrases=phrases)
        for piece in self._target.stream(tokens):
            if not emit(piece):
                return

    def explain(self, rows: Sequence[TranslationRow]) -> list[list[dict[str, Any]]]:
        """Returns each row's hypotheses with their attention, for display."""
        found = self._translate_distinct(rows)
        hypotheses = hypotheses_of(found, self._target, self.min_score)
        begins, sources = [row.begins for row in rows], [row.source for row in rows]
        best = distinct(hypotheses, self.search)
        attended = with_attention(self._engine, begins, sources, best)
        return [[self._explain(one) for one in found] for found in attended]

    def describe(self, passage: Passage, found: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
        """Returns a text's explanation: its parts with what `explain` found for each.

        Returns:
            `sentences`, each with `source`, `source_pieces` (eos included) and `hypotheses`, and
            `gaps`: the text before each best translation, and after the last one. Attributes are
            translated in these, and are no sentences of their own.
        """
        first = len(found) - len(passage.attributes)
        passage = passage.with_attributes([one[0]["translation"] for one in found[first:]])
        read = map(self._source.split, passage.parts)
        end = self._source.pieces([self._source.special_ids.eos])
        found = [
            [one | {"translation": passage.put_back(place, one["translation"])} for one in own]
            for place, own in enumerate(found[:first])
        ]
        return {
            "sentences": [
                {"source": source, "source_pieces": [*pieces, *end], "hypotheses": own}
                for source, pieces, own in zip(passage.sources, read, found, strict=True)
            ],
            "gaps": passage.gaps_between([own[0]["translation"] for own in found]),
        }

    def _lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self._source.encode(texts)]

    def _engine_for(self, rows: Sequence[PairRow | TranslationRow]) -> TranslationEngine:
        """Returns the engine for rows, which go between their marks."""
        begins = [row.begins for row in rows]
        return MarkedEngine(self._engine, begins) if self._is_marked else self._engine

    def _translate(self, rows: Sequence[TranslationRow]) -> list[Sequence[Found]]:
        return self._with_spans(rows, self._by_options(rows, self._search))

    def _translate_distinct(self, rows: Sequence[TranslationRow]) -> list[Sequence[Found]]:
        """As `_translate`, with as many texts of each row as are asked for."""
        return self._with_spans(rows, self._by_options(rows, self._search_distinct))

    def _with_spans(
        self, rows: Sequence[TranslationRow], found: Sequence[Sequence[Found]]
    ) -> list[Sequence[Found]]:
        """Returns the results of rows: hypotheses, where their attention puts spans back."""
        results = list(found)
        places = [place for place, row in enumerate(rows) if row.aligned is not None]
        if not places:
            return results
        own = self._restored([rows[place] for place in places], [found[place] for place in places])
        for place, hypotheses in zip(places, own, strict=True):
            results[place] = hypotheses
        return results

    def _restored(
        self, rows: Sequence[TranslationRow], found: Sequence[Sequence[Found]]
    ) -> list[list[Hypothesis]]:
        hypotheses = to_hypotheses(found, self._target, self.min_score)
        begins, sources = [row.begins for row in rows], [row.source for row in rows]
        parts, sides = [row.aligned for row in rows], (self._source, self._target)
        return with_spans(self._engine, begins, sources, parts, hypotheses, *sides)

    def _by_options(
        self,
        rows: Sequence[TranslationRow],
        search: Callable[[Sequence[TranslationRow], SearchOptions], list[list[Candidate]]],
    ) -> list[list[Candidate]]:
        """Searches for rows that share all options together."""
        found: dict[int, list[Candidate]] = {}
        for places in groups_of(rows):
            own = [rows[place] for place in places]
            found.update(zip(places, search(own, own[0].adapt(self.search)), strict=True))
        return [found[place] for place in range(len(rows))]

    def _search_distinct(
        self, rows: Sequence[TranslationRow], options: SearchOptions
    ) -> list[list[Candidate]]:
        def search(places: Sequence[int], chosen: SearchOptions) -> list[list[Hypothesis]]:
            found = self._search([rows[place] for place in places], chosen)
            return to_hypotheses(found, self._target, self.min_score)

        found = search(range(len(rows)), as_many_as_kept(options))
        return [
            [Candidate(one.ids, one.score, one.log_probability) for one in own]
            for own in filled_up(found, options, self._limits.hypothesis, search)
        ]

    def _search(
        self, rows: Sequence[TranslationRow], options: SearchOptions
    ) -> list[list[Candidate]]:
        def search(places: Sequence[int], phrases: Sequence[Phrases]) -> list[list[Candidate]]:
            own = [rows[place] for place in places]
            sources, prefixes = [row.source for row in own], [row.prefix for row in own]
            given = prefixes if any(prefixes) else None
            return self._engine_for(own).search(sources, options, given, phrases=phrases)

        phrases = [row.phrases for row in rows]
        if not any(phrases):
            return search(range(len(rows)), ())
        return search_with_terms(search, phrases, self._target.phrases(options.require))

    def _score(self, rows: Sequence[PairRow]) -> list[Candidate]:
        targets = [[*row.begins.target, *row.target] for row in rows]
        alignments = self._engine_for(rows).align([row.source for row in rows], targets)
        return list(scored(targets, alignments, self.search))

    def _encoder_states(self, rows: Sequence[TranslationRow]) -> list[npt.NDArray[Any]]:
        return self._engine_for(rows).encoder_states([row.source for row in rows])

    def _explain(self, one: Hypothesis) -> dict[str, Any]:
        return {
            "translation": one.text,
            "score": max(one.score, LOWEST),
            "log_probability": max(one.log_probability, LOWEST),
            "low_confidence": one.low_confidence,
            "target_pieces": self._target.pieces([*one.ids, self._target.special_ids.eos]),
            "attention": one.attention.astype(float).round(6).tolist(),
        }
