"""Continuations of prompts that may begin with any token and hold special ones, as those of a chat
do, by an exported decoder.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keras_transformer.generation.continuation import Continuation
from keras_transformer.generation.engine import begun
from keras_transformer.generation.grammars import Grammars
from keras_transformer.runtime.generator_engine import OnnxGenerationEngine
from keras_transformer.search.options import Candidate, Hypothesis, SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.search.stops import StopReason
from keras_transformer.translation.text_ids import TextIds


@dataclass(frozen=True)
class Prompt:
    """A prompt as the decoder reads it.

    Attributes:
        ids: All of its ids, the one that it begins with included.
        text: The text that continuations go on from; "" where they begin one of their own.
        adapter: The adapter that it is continued with; None for none.
    """

    ids: tuple[int, ...]
    text: str = ""
    adapter: str | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Ending:
    """How a continuation ended.

    Attributes:
        reason: What ended it; None where nothing was possible.
        tokens: How many tokens were generated, the end token included.
    """

    reason: StopReason | None
    tokens: int


@dataclass(frozen=True)
class TokenScore:
    """A token of a text and how probable it is there.

    Attributes:
        text: The token as it is spelled in the text.
        log_probability: Its log-probability in nats; None for the first, which nothing precedes.
        best: The most probable tokens in its place, as they are spelled, with theirs.
    """

    text: str
    log_probability: float | None
    best: Sequence[tuple[str, float]] = ()


class PromptContinuer:
    """Continues prompts, in any number and order.

    Args:
        engine: Continues ids.
        text_ids: Texts and ids.
    """

    def __init__(self, engine: OnnxGenerationEngine, text_ids: TextIds) -> None:
        self._engine, self._text_ids = engine, text_ids
        self._positions = engine.config.max_positions
        self._grammars = Grammars(text_ids, engine.config.vocab_size)

    def of_texts(self, texts: Sequence[str]) -> list[Prompt]:
        """Returns prompts that begin as all of the model's do."""
        starts, rows = begun(self._engine.config, self._text_ids.encode(texts))
        return [
            Prompt((start, *row), text)
            for start, row, text in zip(starts, rows, texts, strict=True)
        ]

    def of_ids(self, ids: Sequence[int]) -> Prompt:
        """Returns a prompt of these ids, to which nothing is added.

        Raises:
            ValueError: There is none, or one is outside the vocabulary.
        """
        size = self._engine.config.vocab_size
        if not ids:
            raise ValueError("a prompt of ids must have one at least, got none.")
        if not 0 <= min(ids) <= max(ids) < size:
            wrong = next(token for token in ids if not 0 <= token < size)
            raise ValueError(f"the ids of a prompt must lie in 0 to {size - 1}, got {wrong}.")
        return Prompt(tuple(ids), self._text_ids.decode([ids])[0])

    def of_chat(self, rendered: str) -> Prompt:
        """Returns the text of a chat as a prompt, in which the names of special tokens mean these.

        Raises:
            ValueError: It has no token.
        """
        ids = self._text_ids.encode_marked(rendered)
        if not ids:
            raise ValueError("the chat's text has no token: give a message with some text.")
        return Prompt(tuple(ids))

    def check_grammar(self, options: SearchOptions) -> None:
        """Checks that texts can follow the grammar that the options name, if they name one.

        Raises:
            ValueError: They cannot.
        """
        self._grammars.start(options)

    def search(
        self, prompts: Sequence[Prompt], options: SearchOptions
    ) -> list[tuple[Hypothesis, Ending]]:
        """Returns the best continuation of each prompt, without the prompt, and how it ended.

        Raises:
            ValueError: A prompt is too long for the model.
        """
        chosen = self._text_ids.with_bans(options)
        found = self._engine.search(
            [prompt.ids[1:] for prompt in prompts],
            chosen,
            stops=chosen.stops(self._text_ids.new_stream),
            phrases=self._phrases(chosen, len(prompts)),
            starts=[prompt.ids[0] for prompt in prompts],
            grammar=self._grammars.start(chosen),
            adapters=[prompt.adapter for prompt in prompts],
        )
        return [
            self._written(prompt, chosen, best)
            for prompt, [best, *_] in zip(prompts, found, strict=True)
        ]

    def stream(self, prompt: Prompt, options: SearchOptions) -> Iterator[str | Ending]:
        """Yields the pieces of a greedy continuation or a sample, and at last how it ended.

        Raises:
            ValueError: The prompt is too long for the model; raised at once.
        """
        chosen = self._text_ids.with_bans(options)
        if chosen.looks_past_ends or chosen.require:
            [(best, ending)] = self.search([prompt], options)
            return iter([*filter(None, [best.text]), ending])
        grammar = self._grammars.start(chosen)
        begins = [prompt.ids[0]], [prompt.adapter]
        tokens = self._engine.stream(prompt.ids[1:], chosen, grammar, *begins)
        return self._pieces(prompt, chosen, tokens)

    def scores(
        self, prompt: Prompt, ids: Sequence[int], count: int, with_prompt: bool = False
    ) -> list[TokenScore]:
        """Returns how probable each token behind a prompt is, found step by step.

        Args:
            prompt: The prompt.
            ids: The tokens.
            count: How many of the most probable tokens to name in each place.
            with_prompt: Whether those of the prompt's own text come before them.
        """
        first, *rest = prompt.ids
        read, tokens = ([], [*rest, *ids]) if with_prompt else (rest, list(ids))
        begins = [first], [prompt.adapter]
        own, best, values = self._engine.token_scores(read, tokens, count, *begins)
        spell = self._text_ids.spellings
        found = [
            TokenScore(text, float(value), [*zip(spell(row), tops.tolist(), strict=True)])
            for text, value, row, tops in zip(
                spell(tokens), own, best.tolist(), values, strict=True
            )
        ]
        if with_prompt and (text := spell([first])[0]):
            found.insert(0, TokenScore(text, None))
        return found

    def _pieces(
        self, prompt: Prompt, options: SearchOptions, tokens: Iterator[int]
    ) -> Iterator[str | Ending]:
        continuation, count = self._continuation(prompt, options), 0

        def counted() -> Iterator[int]:
            nonlocal count
            for token in tokens:
                count += 1
                yield token

        yield from continuation.pieces(counted())
        yield self._ending(continuation, prompt, options, count)

    def _written(
        self, prompt: Prompt, options: SearchOptions, one: Candidate
    ) -> tuple[Hypothesis, Ending]:
        continuation = self._continuation(prompt, options)
        text = "".join(continuation.pieces(one.ids))
        if one.score == -math.inf:
            return Hypothesis(text, *one), Ending(None, 0)
        ending = self._ending(continuation, prompt, options, len(one.ids))
        return Hypothesis(text, *one, stop_reason=ending.reason), ending

    def _ending(
        self, continuation: Continuation, prompt: Prompt, options: SearchOptions, count: int
    ) -> Ending:
        limit = options.max_length
        if self._positions is not None:
            limit = min(limit, self._positions - len(prompt) + 1)
        reason = continuation.stop_reason(count, limit)
        return Ending(reason, count + (reason == "eos"))

    def _continuation(self, prompt: Prompt, options: SearchOptions) -> Continuation:
        ids = prompt.ids if prompt.text else ()
        is_start = ids[:1] == (self._text_ids.special_ids.decoder_start,)
        grammar = self._grammars.start(options)
        return Continuation(self._text_ids, options, prompt.text, ids[is_start:], grammar)

    def _phrases(self, options: SearchOptions, count: int) -> list[Phrases]:
        return [self._text_ids.phrases(options.require)] * count
