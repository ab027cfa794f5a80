"""Translation of texts with any engine, with scores and alignments of given translations, and
translation and scores of rows of ids.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np
import numpy.typing as npt

from keras_transformer.config.sentence_marks import Begins
from keras_transformer.search.keywords import SearchKeywords
from keras_transformer.search.model_limits import IdRows
from keras_transformer.search.options import Candidate, Hypothesis, SearchOptions
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.text.letterless import Letterless, without_format
from keras_transformer.translation.engine import TranslationEngine
from keras_transformer.translation.marked import without_languages
from keras_transformer.translation.results import pad_states, scored, to_hypothesis
from keras_transformer.translation.text_ids import check_texts
from keras_transformer.translation.text_search import TextSearch
from keras_transformer.translation.unknown_words import aligned_words, words_in


class TextTranslator(TextSearch):
    """The base of `Translator` and `OnnxTranslator`, which have an engine of their own each.

    Takes the arguments of `TextSearch` and has its attributes.
    """

    def source_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each source text has, without eos.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
        """
        rests = [self.marks.read_tag(text).text for text in check_texts(texts)]
        return self._lengths(rests)

    @suggests_arguments
    def score(
        self,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        return_attention: bool = False,
        letterless: Letterless | None = None,
        **options: Unpack[SearchKeywords],
    ) -> list[Hypothesis]:
        """Scores given translations as a search would, but without its constraints.

        Args:
            sources: Source texts.
            targets: A translation of each; a span of its source that it has is read as its slot.
            return_attention: Whether each target gets its `attention` to the source.
            letterless: Whether what has no letter is copied around the model ("copy"), translated
                by it ("translate") or either, as the model was trained ("auto"); as the translator
                was opened if None; what goes around the model in a source is no part of its target
                either, where that has it.
            **options: `length_penalty`, `length_penalty_type` and the languages of `SearchOptions`.

        Returns:
            For each pair the target with its ids, score and log-probability, eos included.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
            ValueError: The numbers of sources and targets differ, or one is too long for the model.
        """
        asked = self._ask(sources, options, letterless, name="sources")
        texts = check_texts(targets, "targets")
        if len(texts) != len(asked.begins):
            raise ValueError(
                f"got {len(texts)} targets for {len(asked.begins)} sources: give one for each."
            )
        rows = self._target.encode(
            [one.bare(text) for one, text in zip(asked.passages, texts, strict=True)]
        )
        target_ids = [
            [*begins.target, *row] for begins, row in zip(asked.begins, rows, strict=True)
        ]
        alignments = self._search.engine_for(asked.begins).align(asked.sources, target_ids)
        candidates = scored(target_ids, alignments, asked.options)
        return [
            to_hypothesis(
                text,
                one,
                self.min_score,
                alignment.attention if return_attention else None,
            )
            for text, one, alignment in zip(texts, candidates, alignments, strict=True)
        ]

    @suggests_arguments
    def translate_ids(
        self,
        source_ids: IdRows,
        *,
        prefixes: IdRows | None = None,
        return_scores: bool = True,
        **options: Unpack[SearchKeywords],
    ) -> list[list[Candidate]]:
        """Translates as `translate_n_best` does, from token ids to token ids.

        Args:
            source_ids: Ids of each text, without bos and eos.
            prefixes: Ids that each translation begins with; [] for none.
            return_scores: Whether scores are wanted. If not, greedy search may be faster and
                scores may be NaN.
            **options: Fields of `SearchOptions`.

        Returns:
            For each row its best hypotheses as tuples (ids, score, log_probability).

        Raises:
            ValueError: An option is out of range, or a source is longer than `max_source_length`,
                or an id is outside its vocabulary.
        """
        engine, chosen, _ = self._between(options)
        rows, stops = self._limit.fit(plain(source_ids)), self._stops(chosen)
        return engine.search(
            rows,
            chosen,
            prefixes,
            with_scores=return_scores,
            stops=stops,
            phrases=[self._target.phrases(chosen.require)] * len(rows),
        )

    @suggests_arguments
    def score_ids(
        self, source_ids: IdRows, target_ids: IdRows, **options: Unpack[SearchKeywords]
    ) -> list[Candidate]:
        """Scores given translations as `score` does, from ids without bos and eos.

        Args:
            source_ids: Ids of each source.
            target_ids: Ids of its translation.
            **options: `length_penalty`, `length_penalty_type` and the languages of `SearchOptions`.

        Returns:
            Tuples (ids, score, log_probability) of each target.

        Raises:
            ValueError: The numbers of sources and targets differ, or one is too long for the model,
                or an id is outside its vocabulary.
        """
        engine, chosen, begins = self._between(options)
        targets = [[*begins.target, *row] for row in plain(target_ids)]
        sources = self._limit.fit(plain(source_ids))
        return list(scored(targets, engine.align(sources, targets), chosen))

    def encoder_states(
        self, texts: Sequence[str]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
        """Returns the encoder's states of each text, for retrieval or probing.

        Args:
            texts: The texts; each ends in eos, one without a token too.

        Returns:
            States float32 `(batch, source_length, model_dim)`, zeros after a text's end, and a
            mask bool `(batch, source_length)`, True at its tokens, eos included.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
            ValueError: A text is longer than `max_source_length`.
            RuntimeError: The translator is closed.
        """
        asked = self._ask(texts, {}, "translate", aligned=[None] * len(texts))
        rows = self._search.engine_for(asked.begins).encoder_states(asked.sources)
        return pad_states(rows, self._engine.model_dim)

    def align_words(
        self, text: str, hypothesis: Hypothesis, *, letterless: Letterless | None = None
    ) -> list[tuple[int, int]]:
        """Returns which words of a text the words of its translation come from.

        Args:
            text: The source text.
            hypothesis: Its translation, with `attention`.
            letterless: As for the call that translated it.

        Returns:
            Pairs (source word, target word) in ascending order; words are separated by spaces and
            counted from 0.
        """
        ids, tagged = hypothesis.ids, self.marks.read_tag(text)
        passage = self.passage(tagged.text, letterless)
        [part], [numbers], before = passage.parts, passage.word_numbers(), passage.layout[0]
        words = aligned_words(
            hypothesis.attention,
            ids,
            self._target.special_ids.eos,
            source_words=words_in(without_format(part), self._source.place(part)),
            target_pieces=[
                "" if token in self.marks.ids else spelling
                for token, spelling in zip(ids, self._target.spellings(ids), strict=True)
            ],
        )
        # A tag is a word of the text, if a space follows it, and so is what was carried.
        first = [_whole_words(text) for text in (tagged.tag + passage.gaps[0], before)]
        return [(first[0] + numbers[source], first[1] + target) for source, target in words]

    def _between(
        self, options: Mapping[str, Any]
    ) -> tuple[TranslationEngine, SearchOptions, Begins]:
        """Returns the engine for rows of ids in the options' languages, and the marks of these."""
        chosen = self._target.with_bans(self.search_options(**options))
        begins = self.marks.begins(chosen.source_language, chosen.target_language)
        return self._search.engine_for([begins]), without_languages(chosen), begins


def _whole_words(text: str) -> int:
    """Returns how many words a text has, the last one not counted if it goes on behind it."""
    return len(text.split()) - (text[-1:].strip() != "")


def plain(rows: IdRows) -> list[list[int]]:
    """Returns rows of plain integers."""
    return [[int(token) for token in row] for row in rows]
