"""Checks of token ids, prefixes and lengths against a model's vocabularies and positions before a
search, the same for every engine; they need neither Keras nor TensorFlow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.memory import HypothesisSize
from keras_transformer.search.options import SearchOptions

IdRows = Sequence[Sequence[int]]


class PrefixError(ValueError):
    """A translation cannot begin with its prefix.

    Attributes:
        index: The prefix's place among the sentences.
        reason: What is wrong with it.
    """

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"the prefix of sentence {index} {reason}")


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


def check_token_ids(options: SearchOptions, vocab_size: int, special_ids: SpecialIds) -> None:
    """Checks the token ids that options name against the target vocabulary.

    Raises:
        ValueError: An id is outside it, or padding or the start token is forced.
    """
    named = [(token, "banned_sequences") for row in options.banned_sequences for token in row]
    named += [(token, "forced_tokens") for _, token in options.forced_tokens]
    named += [(token, "stop_tokens") for token in options.stop_tokens]
    for token, name in named:
        if token >= vocab_size:
            raise ValueError(
                f"{name} names token {token}, but the target vocabulary has the ids 0 to "
                f"{vocab_size - 1}."
            )
        if name == "forced_tokens" and token in special_ids.never_generated:
            raise ValueError(
                f"forced_tokens names token {token}: padding ({special_ids.pad}) and the start "
                f"token ({_start(special_ids)}) are never generated."
            )


def check_prefixes(
    prefixes: Sequence[Sequence[int]],
    limits: Sequence[int],
    vocab_size: int,
    special_ids: SpecialIds,
) -> list[list[int]]:
    """Returns the prefixes as lists of plain integers.

    Args:
        prefixes: Ids that each translation begins with, without begin and end tokens; [] for none.
        limits: Longest translation of each sentence, its end token included.
        vocab_size: Size of the target vocabulary.
        special_ids: Its ids that are no text.

    Raises:
        PrefixError: A prefix has an id that is not allowed, or leaves no room for another token.
        ValueError: Their number is not that of the sentences.
    """
    if len(prefixes) != len(limits):
        raise ValueError(
            f"got {len(prefixes)} prefixes for {len(limits)} sentences: give one for each, empty "
            "if a sentence has none."
        )
    rows = [[int(token) for token in prefix] for prefix in prefixes]
    for number, (row, limit) in enumerate(zip(rows, limits, strict=True)):
        for token in row:
            if not 0 <= token < vocab_size or token in special_ids.added_to_text:
                raise PrefixError(
                    number,
                    f"holds token {token}: it must hold ids from 0 to {vocab_size - 1}, without "
                    f"padding ({special_ids.pad}), start ({_start(special_ids)}) and end "
                    f"({special_ids.eos}).",
                )
        if len(row) >= limit:
            raise PrefixError(
                number,
                f"has {len(row)} tokens, but its translation has at most {limit}, the end token "
                "included: shorten it or raise the limit.",
            )
    return rows


def _start(special_ids: SpecialIds) -> int:
    return special_ids.decoder_start if special_ids.bos is None else special_ids.bos


@dataclass(frozen=True, kw_only=True)
class ModelLimits:
    """The sizes of a model that limit requests.

    Args:
        source_vocab_size: Number of source ids.
        target_vocab_size: Number of target ids.
        special_ids: The ids that are no text.
        max_positions: Positions that the model learned, for tokens and their end token; None for
            sinusoids, which have no end.
        source_begins: How many tokens stand before a source: marks, such as that of its language.
        source_ends: How many tokens stand behind a source: its eos, and a mark of its language.
        target_begins: How many tokens a translation begins with: marks.
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

        Where a ratio allows fewer, there is still one token beside the marks.

        Args:
            options: Options that `fit` has returned.
            source_length: Tokens of the source, marks and end token included.
        """
        return max(options.limit(source_length), self.target_begins + 1)

    def fit(self, options: SearchOptions) -> SearchOptions:
        """Returns the options with a `max_length` that the positions allow.

        Raises:
            ValueError: `min_length` is more than that, the marks of a translation leave no room
                for another token, or the hypotheses of a sentence would not fit into memory.
        """
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
        check_token_ids(options, self.target_vocab_size, self.special_ids)
        options = self.fit(options)
        limits = [self.longest_translation(options, len(source) + 1) for source in sources]
        if prefixes is None:
            return options, limits, [[] for _ in sources]
        size, special_ids = self.target_vocab_size, self.special_ids
        return options, limits, check_prefixes(prefixes, limits, size, special_ids)

    def check_pairs(self, sources: IdRows, targets: IdRows) -> None:
        """Checks sources and their given translations.

        Raises:
            PositionsError: One has more tokens than positions.
            ValueError: There are not as many of both, or one holds an id outside its vocabulary.
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
