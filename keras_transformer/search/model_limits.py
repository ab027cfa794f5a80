"""The sizes of a model that limit requests: its vocabularies, its positions, and the memory of a
hypothesis. Checks against them come before a search, the same for every engine, and need neither
Keras nor TensorFlow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from keras_transformer.config.checks import check_choice
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.memory import limit_bytes
from keras_transformer.search.named_ids import check_prefixes, check_token_ids
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.phrases import Phrases, check_phrases, with_slots

IdRows = Sequence[Sequence[int]]
LongTexts = Literal["refuse", "cut"]
# Attention's memory grows with the square of the length; trained models end far below this.
MAX_SOURCE_LENGTH = 512
# Hypotheses are counted with so many tokens at most: most end far below a large `max_length`.
_COUNTED_TOKENS = 256
# What is surely there need not be asked for.
_FEW_BYTES = 256 << 20
_FLOAT = 4


class PositionsError(ValueError):
    """A text has more tokens than the model has positions.

    Attributes:
        index: Its place among the texts.
        side: "source" or "target".
        tokens: How many tokens it has, end token and marks included.
        limit: How many positions the model has.
    """

    def __init__(self, index: int, side: str, tokens: int, limit: int) -> None:
        self.index, self.side, self.tokens, self.limit = index, side, tokens, limit
        super().__init__(
            f"text {index} has {tokens} {side} tokens with eos, more than the model's "
            f"max_positions ({limit}): split it."
        )


class TooLongError(ValueError):
    """A source text holds more tokens than allowed.

    Attributes:
        index: Its place among the texts.
        tokens: How many tokens it has, without eos.
        limit: How many are allowed.
    """

    def __init__(self, index: int, tokens: int, limit: int) -> None:
        self.index, self.tokens, self.limit = index, tokens, limit
        super().__init__(
            f"the source at index {index} has {tokens} tokens, more than the {limit} that "
            "max_source_length and the model's positions allow: split it (SentenceTranslator "
            "does), cut it with long_texts='cut', or raise max_source_length."
        )


class HypothesisSize(NamedTuple):
    """The memory that a search needs for one hypothesis.

    Attributes:
        token_bytes: Keys and values of one of its tokens in all blocks.
        step_bytes: The logits of its next token.
    """

    token_bytes: int
    step_bytes: int

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> "HypothesisSize":
        """Reads it from the configuration of a model with a decoder, as plain values."""
        layers = config.get("num_decoder_layers", config.get("num_layers", 1))
        heads = config["num_heads"]
        # Earlier versions wrote no widths of their own for keys and values.
        width = config.get("model_dim", 0) // heads
        widths = (config.get(name) or width for name in ("key_dim", "value_dim"))
        vocab_size = config.get("target_vocab_size", config.get("vocab_size", 1))
        kept = (config.get("num_key_value_heads") or heads) * sum(widths)
        return cls(int(layers * kept * _FLOAT), int(vocab_size * _FLOAT))

    def check(self, options: SearchOptions) -> None:
        """Checks how many hypotheses a search keeps of each sentence.

        Raises:
            ValueError: They would hold more than `limit_bytes`; the message names the largest
                number.
        """
        own, rows = self._bytes_of_one(options), options.rows_per_sentence
        if not self.holds(options):
            limit = limit_bytes()
            name = "num_hypotheses" if options.sample else "beam_size"
            raise ValueError(
                f"{name}={rows} would need {_size(own * rows)} for each sentence, more than the "
                f"limit of {_size(limit)}: give {name} of at most {max(1, limit // own)}, or a "
                "smaller max_length."
            )

    def holds(self, options: SearchOptions) -> bool:
        """Returns whether the hypotheses that a search keeps of a sentence fit into memory."""
        needed = self._bytes_of_one(options) * options.rows_per_sentence
        return needed <= _FEW_BYTES or needed <= limit_bytes()

    def _bytes_of_one(self, options: SearchOptions) -> int:
        return self.token_bytes * min(options.max_length, _COUNTED_TOKENS) + self.step_bytes

    def check_batch(self, batch_tokens: int) -> None:
        """Checks the size of batches, in tokens of the sources counted for each hypothesis.

        Raises:
            ValueError: It is below 1, or such a batch would hold more than `limit_bytes`.
        """
        if batch_tokens < 1:
            raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}.")
        # A sentence has several tokens, and one row of logits for each hypothesis.
        own = self.token_bytes + self.step_bytes // 8
        if own * batch_tokens <= _FEW_BYTES:
            return
        limit = limit_bytes()
        if own * batch_tokens > limit:
            raise ValueError(
                f"batch_tokens={batch_tokens} would need {_size(own * batch_tokens)}, more than "
                f"the limit of {_size(limit)}: give at most {max(1, limit // own)}."
            )


@dataclass(frozen=True, kw_only=True)
class ModelLimits:
    """The sizes of a model that limit requests.

    Args:
        source_vocab_size: Number of source ids.
        target_vocab_size: Number of target ids.
        special_ids: The special ids, which are not text.
        max_positions: Learned positions, for tokens and their end token; None for sinusoids, which
            have no limit.
        source_begins: Number of tokens before a source: marks, such as that of its language.
        source_ends: Number of tokens after a source: its eos, and a mark of its language.
        target_begins: Number of tokens that begin a translation: marks.
        hypothesis: Memory that a search needs for a hypothesis; not bounded if None.
    """

    source_vocab_size: int
    target_vocab_size: int
    special_ids: SpecialIds
    max_positions: int | None = None
    source_begins: int = 0
    source_ends: int = 1
    target_begins: int = 0
    hypothesis: HypothesisSize | None = None

    @classmethod
    def of(cls, config: Mapping[str, Any], special_ids: SpecialIds) -> "ModelLimits":
        """Reads them from a model's configuration as plain values."""
        marks = SentenceMarks(**config.get("marks", {}))
        return cls(
            special_ids=special_ids,
            source_vocab_size=int(config["source_vocab_size"]),
            target_vocab_size=int(config["target_vocab_size"]),
            max_positions=config.get("max_positions"),
            source_begins=marks.source_begins,
            source_ends=len(marks.behind_source(special_ids.eos)),
            target_begins=marks.target_begins,
            hypothesis=HypothesisSize.of(config),
        )

    @property
    def source_positions(self) -> int | None:
        """Most tokens of a source, marks and end token excluded, that the positions hold."""
        if self.max_positions is None:
            return None
        return self.max_positions - self.source_begins - self.source_ends

    def longest_source(self, most: int) -> int:
        """Returns the most tokens of a source, marks and end token excluded: `most` or fewer."""
        return most if self.source_positions is None else min(most, self.source_positions)

    def longest_target(self, most: int) -> int:
        """Returns the most tokens of a given translation, marks and end token excluded: `most` or
        fewer.
        """
        if self.max_positions is None:
            return most
        return min(most, self.max_positions - self.target_begins - 1)

    def longest_translation(self, options: SearchOptions, source_length: int) -> int:
        """Returns the most tokens of a translation to be found, marks and end token included.

        Even if a ratio allows fewer, there is one token beside the marks.

        Args:
            options: Options that `fit` has returned.
            source_length: Tokens of the source, marks and end token included.
        """
        return max(options.limit(source_length), self.target_begins + 1)

    def fit(self, options: SearchOptions) -> SearchOptions:
        """Returns the options with a `max_length` that the positions allow.

        Raises:
            ValueError: There is a grammar, which only a generator follows, `min_length` exceeds the
                positions, the marks of a translation leave no room for another token, or the
                hypotheses of a sentence would not fit into memory.
        """
        if options.grammar:
            raise ValueError(
                f"{options.grammar[0]} is for generators, got a translator: leave it out."
            )
        most = min(options.max_length, self.max_positions or options.max_length)
        if most <= self.target_begins:
            raise ValueError(
                f"max_length must be at least {self.target_begins + 1}, since each translation "
                f"begins with {self.target_begins} of its tokens (the mark of a language), got "
                f"{most}."
            )
        fitting = options if most == options.max_length else replace(options, max_length=most)
        if self.hypothesis is not None:
            self.hypothesis.check(fitting)
        return fitting

    def check_search(
        self, sources: IdRows, options: SearchOptions, prefixes: IdRows | None
    ) -> tuple[SearchOptions, list[int], IdRows]:
        """Checks the sources, options and prefixes of a search.

        Args:
            sources: Ids of each source, without begin and end tokens.
            options: The search's options.
            prefixes: Ids that each translation begins with; none if None.

        Returns:
            Options that fit the positions, each translation's longest length in tokens, end token
            included, and a prefix for each, of plain integers.

        Raises:
            ValueError: A source, a prefix or an option does not fit the model.
        """
        self.check_sources(sources)
        if options.named_ids:
            check_token_ids(options, self.target_vocab_size, self.special_ids)
        options = self.fit(options)
        limits = [self.longest_translation(options, len(source) + 1) for source in sources]
        if prefixes is None:
            return options, limits, [[] for _ in sources]
        size, special_ids = self.target_vocab_size, self.special_ids
        return options, limits, check_prefixes(prefixes, limits, size, special_ids)

    def check_phrases(
        self,
        phrases: Sequence[Phrases],
        sources: IdRows,
        options: SearchOptions,
        limits: Sequence[int],
        prefixes: IdRows,
    ) -> list[Phrases]:
        """Checks the phrases of a search, given what `check_search` returned.

        Returns:
            The phrases of each translation, with the slots of its source if it has any phrase; []
            if no translation has one.

        Raises:
            ValueError: They do not fit the model, the options or a limit.
        """
        if not any(phrases) and not options.require and not options.ban:
            return []
        size, special_ids = self.target_vocab_size, self.special_ids
        slots = set(special_ids.slots)
        left = [
            limit - len(slots.intersection(source))
            for limit, source in zip(limits, sources, strict=True)
        ]
        checked = check_phrases(phrases, options, left, prefixes, size, special_ids)
        return with_slots(checked, sources, special_ids.slots) if checked else []

    def check_pairs(self, sources: IdRows, targets: IdRows) -> None:
        """Checks sources and their given translations.

        Raises:
            PositionsError: One has more tokens than positions.
            ValueError: Their numbers differ, or one holds an id outside its vocabulary.
        """
        if len(sources) != len(targets):
            raise ValueError(
                f"got {len(targets)} targets for {len(sources)} sources: give one for each."
            )
        self.check_sources(sources)
        self._check_rows("target", targets, self.target_vocab_size)

    def check_sources(self, sources: IdRows) -> None:
        """Checks sources.

        Raises:
            PositionsError: One has more tokens than positions.
            ValueError: One holds an id outside the vocabulary.
        """
        self._check_rows("source", sources, self.source_vocab_size, self.source_ends)

    def _check_rows(self, side: str, rows: IdRows, size: int, ends: int = 1) -> None:
        longest = self.max_positions
        for number, row in enumerate(rows):
            if len(row) and not 0 <= min(row) <= max(row) < size:
                wrong = next(token for token in row if not 0 <= token < size)
                raise ValueError(
                    f"{side}_ids must lie in 0 to {size - 1}, got {wrong} in row {number}."
                )
            if longest is not None and len(row) + ends > longest:
                raise PositionsError(number, side, len(row) + ends, longest)


class SourceLimit:
    """How to treat sources that are longer than a translator accepts.

    Args:
        max_source_length: Most tokens of a source, without eos; no limit if None.
        long_texts: "refuse" raises, "cut" drops the tokens beyond the limit.
        limits: The model's limits, with the marks of languages around a text.

    Attributes:
        length: Most tokens of a source, whichever bound is lower; None if there is none.

    Raises:
        TypeError: `max_source_length` is not an integer.
        ValueError: A value is out of range.
    """

    def __init__(
        self, max_source_length: int | None, long_texts: LongTexts, limits: ModelLimits
    ) -> None:
        if max_source_length is not None:
            if isinstance(max_source_length, bool) or not isinstance(max_source_length, int):
                raise TypeError(
                    f"max_source_length must be an integer or None, got {max_source_length!r}."
                )
            if max_source_length < 1:
                raise ValueError(f"max_source_length must be at least 1, got {max_source_length}.")
        check_choice("long_texts", long_texts, get_args(LongTexts))
        bounds = [max_source_length, limits.source_positions]
        self.length = min((bound for bound in bounds if bound is not None), default=None)
        self._cuts = long_texts == "cut"

    def fit(self, rows: Sequence[Any]) -> list[Any]:
        """Returns the rows of ids, cut if `long_texts` is "cut".

        Raises:
            TooLongError: A row is too long and must not be cut.
        """
        if self.length is None:
            return list(rows)
        for index, row in enumerate(rows):
            if len(row) > self.length and not self._cuts:
                raise TooLongError(index, len(row), self.length)
        return [row[: self.length] for row in rows]


def _size(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
