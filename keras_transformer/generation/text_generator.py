"""Continuation of texts with any decoder: texts or scored hypotheses in the order of the prompts,
and the probabilities of given texts.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from keras_transformer.generation.continuation import Continuation
from keras_transformer.generation.engine import GenerationEngine, longest_prompt
from keras_transformer.generation.grammars import Grammars
from keras_transformer.search.confidence import perplexity
from keras_transformer.search.distinct import as_many_as_kept, filled_up
from keras_transformer.search.grammars import UnfinishedError
from keras_transformer.search.keywords import SearchKeywords, check_defaults, search_options
from keras_transformer.search.model_limits import HypothesisSize, IdRows, LongTexts
from keras_transformer.search.options import Candidate, Hypothesis, SearchOptions, length_penalty
from keras_transformer.search.phrases import Phrases
from keras_transformer.search.text_limits import LengthLimit, plain_rows
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.translation.text_ids import TextIds, check_texts


class TextGenerator:
    """The base of `Generator` and `OnnxGenerator`, which have an engine of their own each.

    Args:
        engine: Continues ids.
        text_ids: Texts and ids.
        max_text_length: Most tokens of a prompt or a text, unless the model allows fewer; None for
            no other limit than the model's.
        long_texts: What to do with longer ones: "refuse" raises `LongTextError`, which has the
            index; "cut" drops the beginning of a prompt, also of one that leaves too little room
            for what is to be written (`longest_prompt`), and the end of a text to be scored.
        search: Fields of `SearchOptions` that hold where a call gives none, as an imported model
            has them; None for none.

    Attributes:
        config: The model's config.
        max_text_length: Most tokens of a prompt or a text; None if there is no limit.
        search: Fields of `SearchOptions` that hold where a call gives none, as an imported model
            has them; {} for none.

    Raises:
        ValueError: `search` is not valid.
    """

    def __init__(
        self,
        engine: GenerationEngine,
        text_ids: TextIds,
        max_text_length: int | None,
        long_texts: LongTexts,
        search: Mapping[str, Any] | None = None,
    ) -> None:
        self.search = check_defaults(search or {})
        self.config = engine.config
        self._engine = engine
        self._text_ids = text_ids
        self._grammars = Grammars(text_ids, engine.config.vocab_size)
        positions = engine.config.max_positions
        room = None if positions is None else positions - 1
        self._long_texts = long_texts
        self._limit = LengthLimit(max_text_length, long_texts, room)
        self.max_text_length = self._limit.length

    @suggests_arguments
    def search_options(self, **options: Unpack[SearchKeywords]) -> SearchOptions:
        """Returns a search's options: these, else the model's own, else the defaults.

        Raises:
            TypeError: An option is unknown or of the wrong type.
            ValueError: An option is out of range.
        """
        return search_options(self.search, options)

    def check_grammar(self, options: SearchOptions) -> None:
        """Checks that texts can follow the grammar that options name, if they name one.

        Raises:
            ImportError: The package `llguidance` is missing.
            ValueError: They cannot.
        """
        self._grammars.start(options)

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each text has, without special ones.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
        """
        return [len(ids) for ids in self._text_ids.encode(check_texts(texts))]

    def longest_prompt(self, options: SearchOptions) -> int | None:
        """Returns `engine.longest_prompt` of this model and limit."""
        return longest_prompt(options, self.max_text_length, self.config.max_positions)

    @suggests_arguments
    def generate(
        self,
        prompts: Sequence[str],
        *,
        include_prompt: bool = True,
        **options: Unpack[SearchKeywords],
    ) -> list[str]:
        """Returns the best continuation of each prompt, in order.

        Args:
            prompts: The texts to continue; "" for a text from its beginning.
            include_prompt: Whether a text begins with its prompt, as it was given; one that
                follows `json_schema`, `regex` or `choices` never does. Without it a text begins
                with the space that separates it from its prompt, if one does.
            **options: Fields of `SearchOptions`; `max_length`, `min_length` and the positions of
                `forced_tokens` count the tokens after the prompt.

        Raises:
            TypeError: `prompts` is one string, or holds anything but strings; an option is unknown
                or of the wrong type.
            ValueError: An option is out of range, or a prompt is longer than `max_text_length` or
                leaves no room for `min_length` new tokens.
            UnfinishedError: A text does not fulfil `json_schema`, `regex` or `choices`, since
                `max_length` cut it off, or the vocabulary could not go on.
            RuntimeError: The generator is closed.
        """
        prompts, chosen = check_texts(prompts, "prompts"), self._chosen(options)
        ids = self._fitted(self._text_ids.encode(prompts), chosen)
        found = self._search(ids, chosen)
        written = [
            self._write(chosen, prompt, row, best.ids, include_prompt)
            for prompt, row, [best, *_] in zip(prompts, ids, found, strict=True)
        ]
        texts = ["".join(pieces) for pieces, _ in written]
        if unfinished := sum(not one.is_whole for _, one in written):
            raise _unfinished(unfinished, chosen)
        return texts

    @suggests_arguments
    def generate_n_best(
        self,
        prompts: Sequence[str],
        *,
        include_prompt: bool = True,
        **options: Unpack[SearchKeywords],
    ) -> list[list[Hypothesis]]:
        """Returns the best continuations of each prompt, best first; samples in their order.

        Args:
            prompts: The texts to continue; "" for a text from its beginning.
            include_prompt: Whether a text begins with its prompt, as it was given.
            **options: Fields of `SearchOptions`; lengths count the tokens after the prompt.

        Returns:
            Hypotheses of each prompt: texts that differ, with ids and scores of the best tokens
            that spell them, all of the tokens after the prompt. Where texts repeat, what a search
            with more beams finds stands behind the others; fewer than `num_hypotheses` if that has
            no more, and an empty one of score -inf if none is possible. Samples are as they were
            drawn, and may repeat.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
            ValueError: An option is out of range, or a prompt is too long or leaves no room for
                `min_length` new tokens.
            RuntimeError: The generator is closed.
        """
        prompts, chosen = check_texts(prompts, "prompts"), self._chosen(options)
        ids = self._fitted(self._text_ids.encode(prompts), chosen)

        def search(places: Sequence[int], options: SearchOptions) -> list[list[Hypothesis]]:
            rows = [ids[place] for place in places]
            found = self._search(rows, chosen, options, with_scores=True)
            return [
                [
                    self._hypothesis(chosen, prompts[place], ids[place], one, include_prompt)
                    for one in candidates
                ]
                for place, candidates in zip(places, found, strict=True)
            ]

        found = search(range(len(ids)), as_many_as_kept(chosen))
        return filled_up(found, chosen, HypothesisSize.of(vars(self.config)), search)

    @suggests_arguments
    def generate_ids(
        self, prompt_ids: IdRows, *, return_scores: bool = True, **options: Unpack[SearchKeywords]
    ) -> list[list[Candidate]]:
        """Continues as `generate_n_best` does, from token ids to token ids.

        Args:
            prompt_ids: Ids of each prompt, without bos and eos.
            return_scores: Whether scores are wanted. If not, greedy search may be faster and
                scores may be NaN.
            **options: Fields of `SearchOptions`; lengths count the tokens after the prompt.

        Returns:
            For each prompt its best continuations as tuples (ids, score, log_probability).

        Raises:
            TypeError: An id is not an integer.
            ValueError: An option is out of range, or a prompt is too long or leaves no room for
                `min_length` new tokens, or an id is outside the vocabulary.
        """
        chosen = self._chosen(options)
        rows = self._fitted(plain_rows(prompt_ids), chosen)
        return self._search(rows, chosen, with_scores=return_scores)

    @suggests_arguments
    def stream(
        self, prompt: str, *, include_prompt: bool = True, **options: Unpack[SearchKeywords]
    ) -> Iterator[str]:
        """Yields one continuation piece by piece, each as soon as it is certain.

        The pieces, joined, are what `generate` returns, but for a text that cannot be ended since
        the options allow no token any more: `generate` adds nothing to the prompt then, the stream
        has yielded how it began. With `early_stopping="exact"` no piece is certain before the
        search ends.

        Args:
            prompt: The text to continue.
            include_prompt: Whether the first piece is the prompt.
            **options: Fields of `SearchOptions`; lengths count the tokens after the prompt, for
                greedy search or one sample.

        Raises:
            ValueError: More than one hypothesis is asked for, or as for `generate`; raised by the
                call itself, not at the first piece.
            UnfinishedError: As for `generate`; raised behind the last piece.
            TypeError: `prompt` is not a string; an option is unknown or of the wrong type.
        """
        # The caller asked for no beams: those of the model's own defaults do not count.
        chosen = self._chosen({"beam_size": 1, **options})
        if chosen.beam_size > 1 or chosen.num_hypotheses > 1:
            raise ValueError(
                "stream yields one text piece by piece, so it needs beam_size 1 and "
                f"num_hypotheses 1, got {chosen.beam_size} and {chosen.num_hypotheses}."
            )
        [ids] = self._fitted(self._text_ids.encode(check_texts([prompt], "prompts")), chosen)
        if chosen.looks_past_ends or chosen.require:
            [[best]] = self._search([ids], chosen)
            tokens: Iterator[int] = iter(best.ids)
        else:
            tokens = self._engine.stream(ids, chosen, self._grammars.start(chosen))
        return self._whole(chosen, *self._write(chosen, prompt, ids, tokens, include_prompt))

    @suggests_arguments
    def score(self, texts: Sequence[str], **options: Unpack[SearchKeywords]) -> list[Hypothesis]:
        """Scores given texts from their first token to eos, without a search's constraints.

        Args:
            texts: The texts.
            **options: `length_penalty` and `length_penalty_type` of `SearchOptions`.

        Returns:
            For each text its ids, score and log-probability, eos included.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
            ValueError: A text is longer than `max_text_length`.
        """
        chosen = self.search_options(**options)
        ids = self._limit.fit(self._text_ids.encode(check_texts(texts)))
        read = [row[::-1] for row in ids] if self.config.reads_backward else ids
        scored = []
        for text, row, values in zip(texts, ids, self._engine.log_probabilities(read), strict=True):
            total = float(values.sum(dtype=np.float64))
            score = total / length_penalty(len(row) + 1, chosen)
            scored.append(Hypothesis(text, row, score, total))
        return scored

    def read_on(self, texts: Sequence[str], before: Any = None) -> tuple[list[Hypothesis], Any]:
        """Scores the next lines of one long text, of which each goes on where the one before ended.

        For models with a memory (`memory_length`). Lines may have any length.

        Args:
            texts: The lines.
            before: What the call for the lines before returned; None for the first ones.

        Returns:
            For each line its ids and, as score and log-probability, its log-probability given the
            lines before, eos included; and what the call for the next lines takes.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings.
            ValueError: The model has no memory.

        Example:
            `scored, before = generator.read_on(["First line.", "Second line."])`
        """
        rows = self._text_ids.encode(check_texts(texts))
        ended = [[*row, self.config.special_ids.eos] for row in rows]
        values, after = self._engine.read_on([token for row in ended for token in row], before)
        ends = np.cumsum([len(row) for row in ended])
        totals = [float(one.sum(dtype=np.float64)) for one in np.split(values, ends[:-1])]
        found = zip(texts, rows, totals, strict=True) if texts else ()
        return [Hypothesis(text, row, total, total) for text, row, total in found], after

    def perplexity(self, texts: Sequence[str]) -> list[float]:
        """Returns the perplexity of each text: exp of the mean negative log-probability a token.

        Args:
            texts: The texts; eos counts as a token of each.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings; an option is
                unknown or of the wrong type.
            ValueError: A text is longer than `max_text_length`.
        """
        scored = self.score(texts)
        return [perplexity(one.log_probability, len(one.ids) + 1) for one in scored]

    def _fitted(self, prompts: IdRows, options: SearchOptions) -> list[list[int]]:
        """Returns the ids of prompts that can be continued."""
        if self.config.reads_backward:
            raise ValueError(
                "the model reads texts from the end (direction='backward') and cannot continue "
                "them: score texts with it, or generate with one of direction='forward'."
            )
        return self._limit.fit_prompts(prompts, self.longest_prompt(options))

    def _search(
        self,
        prompts: IdRows,
        asked: SearchOptions,
        options: SearchOptions | None = None,
        *,
        with_scores: bool = False,
    ) -> list[list[Candidate]]:
        """Returns what the engine finds, with what was asked for or other options of its beams."""
        phrases: list[Phrases] = [self._text_ids.phrases(asked.require)] * len(prompts)
        return self._engine.search(
            prompts,
            options or asked,
            with_scores=with_scores,
            stops=asked.stops(self._text_ids.new_stream),
            phrases=phrases,
            grammar=self._grammars.start(asked),
        )

    def _chosen(self, options: Mapping[str, Any]) -> SearchOptions:
        return self._text_ids.with_bans(search_options(self.search, options))

    def _whole(
        self, options: SearchOptions, pieces: Iterator[str], continuation: Continuation
    ) -> Iterator[str]:
        """Yields the pieces of a text, which must be whole at its end."""
        yield from pieces
        if not continuation.is_whole:
            raise _unfinished(1, options)

    def _write(
        self,
        options: SearchOptions,
        prompt: str,
        prompt_ids: Sequence[int],
        tokens: Iterable[int],
        include_prompt: bool,
    ) -> tuple[Iterator[str], Continuation]:
        """Returns the pieces of a text, and what knows how it ended once they are read."""
        grammar = self._grammars.start(options)
        continuation = Continuation(self._text_ids, options, prompt, prompt_ids, grammar)
        pieces = continuation.pieces(tokens)
        lead = [prompt] if include_prompt and prompt and grammar is None else []
        return itertools.chain(lead, pieces), continuation

    def _hypothesis(
        self,
        options: SearchOptions,
        prompt: str,
        prompt_ids: Sequence[int],
        one: Candidate,
        include_prompt: bool,
    ) -> Hypothesis:
        """Returns a candidate with its text."""
        pieces, continuation = self._write(options, prompt, prompt_ids, one.ids, include_prompt)
        text, limit, positions = "".join(pieces), options.max_length, self.config.max_positions
        if positions is not None:
            limit = min(limit, positions - len(prompt_ids))
        is_found = one.score > -math.inf
        reason = continuation.stop_reason(len(one.ids), limit) if is_found else None
        return Hypothesis(text, *one, stop_reason=reason)


def _unfinished(texts: int, options: SearchOptions) -> UnfinishedError:
    name = options.grammar[0] if options.grammar else ""
    return UnfinishedError(texts, name, options.max_length)
