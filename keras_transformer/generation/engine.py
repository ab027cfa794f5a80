"""The interface of an engine for decoders alone, from prompts as ids to what follows them. A
generator of text knows nothing else of models, graphs and batches.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.search.grammars import GrammarState
from keras_transformer.search.model_limits import HypothesisSize, IdRows
from keras_transformer.search.named_ids import check_token_ids
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.phrases import Phrases, check_phrases
from keras_transformer.search.stops import Stops
from keras_transformer.search.text_limits import check_text_ids, check_vocabulary

# Options of a search that only a translation's source gives a meaning.
OF_TRANSLATION = ("max_length_ratio", "source_language", "target_language")


class GenerationEngine(Protocol):
    """Continues rows of ids, in any number and order, each without begin and end tokens.

    Lengths in options count new tokens, the end token included. Scores and log-probabilities are
    those of the new tokens, given the prompt.
    """

    @property
    def config(self) -> DecoderConfig:
        """The model's config."""
        ...

    def search(
        self,
        prompts: IdRows,
        options: SearchOptions,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
        phrases: Sequence[Phrases] = (),
        grammar: GrammarState | None = None,
    ) -> list[list[Candidate]]:
        """Returns each prompt's continuations, best first, or its samples in order.

        Args:
            prompts: Ids of each prompt; an empty one is continued as any other.
            options: The search's options.
            with_scores: Whether scores are needed; an engine may be faster without them.
            stops: What ends texts beside eos; None to look for `stop_tokens` alone.
            phrases: What the new tokens of each row must hold; empty for nothing.
            grammar: What the new tokens of every row must follow; None for nothing.

        Returns:
            Candidates of each prompt, new tokens alone: fewer than `num_hypotheses` if fewer are
            possible, and an empty one of score -inf if none is.

        Raises:
            ValueError: A prompt or an option does not fit the model.
        """
        ...

    def stream(
        self,
        prompt: Sequence[int],
        options: SearchOptions,
        grammar: GrammarState | None = None,
    ) -> Iterator[int]:
        """Yields the new tokens of one greedy search or sample as they are decoded, without eos.

        It looks for no stops: the caller, who does, closes the iterator.

        Raises:
            ValueError: A prompt or an option does not fit the model; raised at once.
        """
        ...

    def log_probabilities(self, texts: IdRows) -> list[npt.NDArray[np.float32]]:
        """Returns the log-probabilities of each text's tokens and of its eos, in nats.

        Args:
            texts: Ids of each text, without begin and end tokens.

        Raises:
            ValueError: A text does not fit the model.
        """
        ...

    def read_on(
        self, tokens: Sequence[int], before: Any = None
    ) -> tuple[npt.NDArray[np.float32], Any]:
        """Returns the log-probabilities of tokens that go on from those read before, in nats.

        Args:
            tokens: Ids of the next part of a text, ends of its lines included.
            before: What the call for the part before returned; None at the beginning of a text.

        Returns:
            float32 `(tokens,)`, and what the call for the next part takes.

        Raises:
            ValueError: The model has no memory, or an id is outside the vocabulary.
        """
        ...


def longest_prompt(options: SearchOptions, limit: int | None, positions: int | None) -> int | None:
    """Returns the most tokens of a prompt that leave room to write; None if there is no limit.

    There is room if positions for `max_length` new tokens are left, or for as many as half of the
    model's positions if that is fewer; positions for `min_length` in any case.

    Args:
        options: The search's options.
        limit: Most tokens of a text, the start not counted; no limit if None.
        positions: The model's positions; no end if None.
    """
    if positions is None or limit is None:
        return limit
    reserved = max(min(options.max_length, positions // 2), options.min_length)
    return max(1, min(limit, positions - reserved))


class NoRoomError(ValueError):
    """A prompt leaves too few of the model's positions for the shortest text that is wanted.

    Attributes:
        index: Its place among the prompts.
    """

    def __init__(self, index: int, tokens: int, options: SearchOptions, positions: int) -> None:
        self.index = index
        super().__init__(
            f"the text at index {index} has {tokens} tokens, which leaves {positions - tokens} of "
            f"the model's {positions} positions to write to, fewer than min_length "
            f"({options.min_length}): shorten it, or lower min_length."
        )


@dataclasses.dataclass(frozen=True)
class CheckedPrompts:
    """Checked prompts.

    Attributes:
        prompts: Ids of each prompt, plain integers.
        limits: Most tokens of each, prompt and eos included.
        starts: The token before each prompt.
        phrases: What the new tokens of each must hold; empty for nothing.
    """

    prompts: IdRows
    limits: list[int]
    starts: Sequence[int]
    phrases: Sequence[Phrases] = ()


def check_generation(options: SearchOptions) -> None:
    """Checks that no option is one of translation.

    Raises:
        ValueError: One is, which only a source gives a meaning.
    """
    for name in OF_TRANSLATION:
        if getattr(options, name) is not None:
            raise ValueError(
                f"{name} is for translations, which have a source, got "
                f"{getattr(options, name)!r}: leave it out."
            )


def check_prompts(
    config: DecoderConfig,
    prompts: IdRows,
    options: SearchOptions,
    phrases: Sequence[Phrases] = (),
    starts: Sequence[int] = (),
    grammar: GrammarState | None = None,
) -> CheckedPrompts:
    """Checks what a search is asked for.

    Args:
        config: The model's config.
        prompts: Ids of each prompt.
        options: The search's options.
        phrases: What the new tokens of each row must hold; empty for nothing.
        starts: The token before each prompt, which then may hold special ids; empty for what the
            model's prompts begin with: `decoder_start` or, of a model that reads none before them,
            their own first tokens.
        grammar: What the new tokens of each must follow; None for nothing.

    Raises:
        NoRoomError: A prompt leaves no room for `min_length` new tokens.
        ValueError: A prompt, a phrase or an option does not fit the model.
    """
    check_generation(options)
    special_ids, positions = config.special_ids, config.max_positions
    HypothesisSize.of(vars(config)).check(options)
    check_token_ids(options, config.vocab_size, special_ids)
    rows: list[Sequence[int]] = [[int(token) for token in prompt] for prompt in prompts]
    if not starts:
        starts, rows = begun(config, rows)
    check_vocabulary([[start] for start in starts], config.vocab_size, None)
    check_texts_fit(config, rows)
    for number, row in enumerate(rows):
        if positions is not None and len(row) + options.min_length > positions:
            raise NoRoomError(number, len(row), options, positions)
    limits = [len(row) + options.max_length for row in rows]
    if positions is not None:
        limits = [min(one, positions) for one in limits]
    if options.grammar and grammar is None:
        raise ValueError(
            f"{options.grammar[0]} needs a tokenizer, which a model alone does not have: call a "
            "Generator or OnnxGenerator."
        )
    if not any(phrases) and not options.require and not options.ban:
        return CheckedPrompts(rows, limits, starts)
    size = config.vocab_size
    return CheckedPrompts(
        rows, limits, starts, check_phrases(phrases, options, limits, rows, size, special_ids)
    )


def begun(config: DecoderConfig, rows: IdRows) -> tuple[list[int], list[Sequence[int]]]:
    """Returns what the decoder reads first of each prompt, and the rest of it.

    Raises:
        ValueError: A prompt holds an id that is no text, but for `decoder_start` at its beginning
            where the model puts none before it.
    """
    special_ids = config.special_ids
    start = special_ids.decoder_start
    starts = [start if config.starts_prompts or not row else row[0] for row in rows]
    begun = [*rows] if config.starts_prompts else [row[1:] for row in rows]
    for number, (first, row) in enumerate(zip(starts, begun, strict=True)):
        text = row if first == start else [first, *row]
        check_text_ids(text, special_ids, start, f"prompt {number}")
    return starts, begun


def check_texts_fit(config: DecoderConfig, texts: IdRows) -> None:
    """Checks ids of texts, which a start token precedes.

    Raises:
        ValueError: An id is outside the vocabulary, or a text has more tokens than positions.
    """
    check_vocabulary(texts, config.vocab_size, None)
    positions = config.max_positions
    for number, text in enumerate(texts):
        if positions is not None and len(text) >= positions:
            raise ValueError(
                f"row {number} has {len(text)} tokens, and the model's {positions} positions "
                f"(max_positions) leave {positions - 1} behind the start token: shorten it."
            )
