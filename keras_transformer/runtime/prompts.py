"""Continuations of prompts that may begin with any token and hold special ones, as those of a chat
do, by an exported decoder.
"""

import codecs
import itertools
import math
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

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
        spelled: What it adds to the text, in UTF-8: maybe a part of a character.
        log_probability: Its log-probability in nats; None for the first, which nothing precedes.
        best: The most probable tokens in its place, as they are spelled, with theirs.
    """

    spelled: bytes
    log_probability: float | None
    best: Sequence[tuple[bytes, float]] = ()


class Piece(NamedTuple):
    """A piece of a text that is being written.

    Attributes:
        text: The piece.
        scores: The tokens that begin up to its end and in no piece before it, if they are wanted.
    """

    text: str
    scores: Sequence[TokenScore] = ()


class Scored(NamedTuple):
    """Which tokens' probabilities are wanted beside a text.

    Attributes:
        best: How many of the most probable tokens are named in each place.
        with_prompt: Whether the prompt's own tokens count.
    """

    best: int
    with_prompt: bool = False


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

    def stream(
        self, prompt: Prompt, options: SearchOptions, scored: Scored | None = None
    ) -> Iterator[Piece | Ending]:
        """Yields the pieces of a greedy continuation or a sample, and at last how it ended.

        Args:
            prompt: The prompt.
            options: The search.
            scored: Which probabilities are wanted; None for none. With the prompt's own, its text
                is the first piece.

        Raises:
            ValueError: The prompt is too long for the model; raised at once.
        """
        chosen = self._text_ids.with_bans(options)
        if chosen.looks_past_ends or chosen.require:
            [(best, ending)] = self.search([prompt], options)
            if ending.reason is None:
                return iter([ending])
            return self._pieces(prompt, chosen, iter(best.ids), scored)
        grammar = self._grammars.start(chosen)
        begins = [prompt.ids[0]], [prompt.adapter]
        tokens = self._engine.stream(prompt.ids[1:], chosen, grammar, *begins)
        return self._pieces(prompt, chosen, tokens, scored)

    def scores(
        self,
        prompt: Prompt,
        ids: Iterable[int],
        most: int,
        scored: Scored,
        *,
        follows_grammar: bool = False,
    ) -> Generator[TokenScore, None, None]:
        """Yields how probable each token behind a prompt is, as it arrives.

        Args:
            prompt: The prompt.
            ids: The tokens.
            most: How many these are at most.
            scored: Which of the others are named, and whether the prompt's tokens come first.
            follows_grammar: Whether the tokens are a text of their own, which follows a grammar.
        """
        first, *rest = prompt.ids
        # Where a text begins, as `Continuation` has it, no space stands before its first word.
        has_lead = not self._text_ids.subwords.keeps_spaces
        is_joined = bool(prompt.text[-1:].strip())
        begins = has_lead and (scored.with_prompt or not is_joined)
        before = len(rest) if scored.with_prompt else 0

        def spell(tokens: Iterable[int]) -> list[bytes]:
            nonlocal begins
            spelled = self._text_ids.token_bytes(tokens)
            if begins:
                spelled = [one.lstrip(b" ") for one in spelled]
                begins = not spelled[0]
            return spelled

        if scored.with_prompt:
            if self._spelled(prompt) == len(prompt):
                yield TokenScore(spell([first])[0], None)
            rest, ids, most = [], itertools.chain(rest, ids), most + len(rest)
        starts = [first], [prompt.adapter]
        found = self._engine.token_scores(rest, ids, most, scored.best, *starts)
        for place, (token, own, best) in enumerate(found):
            if place == before and follows_grammar and is_joined:
                begins = has_lead
            spelled, *others = spell([token, *(other for other, _ in best)])
            values = [value for _, value in best]
            yield TokenScore(spelled, own, list(zip(others, values, strict=True)))

    def _pieces(
        self,
        prompt: Prompt,
        options: SearchOptions,
        tokens: Iterator[int],
        scored: Scored | None,
    ) -> Iterator[Piece | Ending]:
        continuation, ids = self._continuation(prompt, options), list[int]()

        def kept() -> Iterator[int]:
            for token in tokens:
                ids.append(token)
                yield token

        pieces = continuation.pieces(kept())
        if scored is None:
            yield from map(Piece, pieces)
            yield self._ending(continuation, prompt, options, len(ids))
            return
        found, said, length = list[TokenScore](), 0, 0
        # A score for each id that has been kept, found when it is: the list never ends.
        wanted = prompt, iter(ids), options.max_length, scored
        has_grammar = options.grammar is not None
        with closing(self.scores(*wanted, follows_grammar=has_grammar)) as scores:
            if scored.with_prompt:
                found += itertools.islice(scores, self._spelled(prompt))
                said, length = len(found), len(prompt.text)
                yield Piece(prompt.text, found[:])
            before = said
            for text in pieces:
                found += itertools.islice(scores, before + len(ids) - len(found))
                length += len(text)
                end = max(said, begun_within(found, length))
                yield Piece(text, found[said:end])
                said = end
            found += itertools.islice(scores, before + len(ids) - len(found))
        ending = self._ending(continuation, prompt, options, len(ids))
        # A stop, and what belongs to it, is no part of the text.
        if ending.reason != "stop" and found[said:]:
            yield Piece("", found[said:])
        yield ending

    def _spelled(self, prompt: Prompt) -> int:
        """Returns how many tokens of a prompt have a score."""
        return len(prompt) - (not self._text_ids.token_bytes(prompt.ids[:1])[0])

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


def begun_within(scores: Sequence[TokenScore], length: int) -> int:
    """Returns how many tokens begin within the first `length` characters of a text."""
    return sum(begin < length for begin in places(scores)[:-1])


def places(scores: Sequence[TokenScore], begin: int = 0) -> list[int]:
    """Returns the character at which each token begins, and the one behind the last.

    Tokens that spell parts of a character begin where it does. Bytes that are no character are
    U+FFFD, as in the text.
    """
    decoder, found = codecs.getincrementaldecoder("utf-8")("replace"), list[int]()
    for one in scores:
        begin += len(decoder.decode(one.spelled[:1]))
        # The first byte belongs to a character that goes on, or to the last one.
        is_open = not one.spelled or bool(decoder.getstate()[0])
        found.append(begin if is_open else begin - 1)
        begin += len(decoder.decode(one.spelled[1:]))
    return [*found, begin + len(decoder.decode(b"", final=True))]
