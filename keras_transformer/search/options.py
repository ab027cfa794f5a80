"""The options of a search, its results and the length penalty, the same for Keras and onnxruntime;
nothing here needs Keras, TensorFlow or numpy.
"""

import dataclasses
import math
import operator
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, get_args

from keras_transformer.config.checks import check_choice
from keras_transformer.search.grammars import GRAMMARS, checked_grammar
from keras_transformer.search.stops import StopReason, Stops, check_stop_tokens, check_strings
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.text.subwords.interface import SubwordStream

LengthPenaltyType = Literal["gnmt", "exponent"]
EarlyStopping = Literal["first", "likely", "exact"]
# Marks a field that commands give no flag.
WITHOUT_FLAG = {"flag": False}
# Far beyond what any model was trained for; a search keeps a row of so many tokens at most.
_MOST_TOKENS = 2**20
# Beyond it float32 overflows, or scores fall below what it holds in full precision.
_MOST_PENALTY = 1e30


@suggests_arguments
@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Options of greedy search, beam search and sampling.

    A hypothesis's length is its number of generated tokens, including the end token. Forbidden
    tokens (padding, the start token, and those that an option forbids) have log-probability minus
    infinity; the other tokens keep theirs, so that options choose among translations but never
    rescore them. Only `repetition_penalty` and `temperature` change the distribution itself.

    Args:
        beam_size: Hypotheses kept at each step; 1 is greedy search.
        length_penalty: Exponent α of the length penalty, at least 0; 0 compares plain
            log-probabilities.
        length_penalty_type: Divisor of log-probabilities: "gnmt" ((5 + length) / 6)^α (Wu et al.
            2016, equation 14), "exponent" length^α, as in CTranslate2; at most 1e30, which float32
            can hold.
        num_hypotheses: Texts returned for each input: at most `beam_size`, or any number of
            independent samples.
        max_length: Longest translation or continuation in tokens, including the end token; at most
            2**20.
        max_length_ratio: Longest translation in tokens for each source token (both counts include
            the end token), rounded up; `max_length` applies as well. No such limit if None.
        min_length: Tokens generated before the end token is allowed; 0 allows empty texts. A source
            without any token still gets an empty translation.
        early_stopping: When a sentence's beam search ends. "first": as soon as `beam_size`
            hypotheses have finished. "likely": when no open hypothesis would beat the worst of them
            if it ended now. "exact": when none can beat it at any length up to the limit.
        no_repeat_ngram_size: No sequence of this many tokens occurs twice in a hypothesis; 0 allows
            all.
        repetition_penalty: Divides the positive logits of tokens already generated and multiplies
            the negative ones (Keskar et al. 2019, section 4.1); 1 changes nothing.
        banned_sequences: Token id sequences that are never generated; a sequence of one id bans a
            token.
        forced_tokens: Pairs (position, token id) of the token at a position, counted from 0.
        ban: Words that no text holds, whatever tokens spell them; longer words that begin with the
            same tokens are banned, too.
        require: Phrases that each text must hold; if `|` separates several forms, one is enough.
            They are found by beam search (Post and Vilar 2018), even with `beam_size` 1.
        stop: Strings that end a text: it ends before the first of them, even if the string spans
            several tokens, and whatever `min_length` says. Prompts and prefixes are not searched.
        stop_tokens: Ids of tokens that end a text in the same way and are left out of it.
        json_schema: JSON schema that the text fulfils, as a string or, in Python, an object. A text
            that `max_length` cuts off does not fulfil it: its `stop_reason` is "length".
        regex: Regular expression that the text matches from beginning to end, with the same limit.
        choices: Texts, one of which the text is, with the same limit.
        sample: Draw each token at random instead of searching; needs `beam_size` 1.
        temperature: Divides the logits before a draw; above 0.
        top_k: Draw among this many most probable tokens; 0 means all.
        top_p: Draw among the fewest most probable tokens that reach this probability together.
        source_language: Code of the texts' language, for models of several languages; the model's
            default if None.
        target_language: Code of the language to translate into; the model's default if None.
        seed: Seed of the random numbers. A sentence's samples depend only on this number, its place
            among the inputs and the rank of the sample. A new random seed if None.
        first_place: Place of a call's first text among all inputs, if they come in several calls:
            samples are then those of one call. A sentence-by-sentence translator counts sentences.

    Raises:
        ValueError: A value is out of range, or two contradict each other; the message names them.
        TypeError: A value is of the wrong type.
    """

    beam_size: int = 1
    length_penalty: float = 0.6
    length_penalty_type: LengthPenaltyType = "gnmt"
    num_hypotheses: int = 1
    max_length: int = 256
    max_length_ratio: float | None = None
    min_length: int = 1
    early_stopping: EarlyStopping = "likely"
    no_repeat_ngram_size: int = 0
    repetition_penalty: float = 1.0
    banned_sequences: tuple[tuple[int, ...], ...] = ()
    forced_tokens: tuple[tuple[int, int], ...] = ()
    ban: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    stop: tuple[str, ...] = ()
    stop_tokens: tuple[int, ...] = ()
    json_schema: str | None = dataclasses.field(default=None, metadata=WITHOUT_FLAG)
    regex: str | None = dataclasses.field(default=None, metadata=WITHOUT_FLAG)
    choices: tuple[str, ...] | None = dataclasses.field(default=None, metadata=WITHOUT_FLAG)
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    source_language: str | None = None
    target_language: str | None = None
    # Set by callers that read answers in parts; users do not choose it.
    first_place: int = dataclasses.field(default=0, metadata=WITHOUT_FLAG)

    def __post_init__(self) -> None:
        for name in ("beam_size", "num_hypotheses", "max_length"):
            self._check_integer(name, least=1)
        for name in ("min_length", "no_repeat_ngram_size", "top_k", "first_place"):
            self._check_integer(name, least=0)
        if self.seed is not None:
            self._check_integer("seed", least=0)
        self._check_number("length_penalty", zero=True)
        for name in ("repetition_penalty", "temperature", "top_p"):
            self._check_number(name)
        if self.max_length_ratio is not None:
            self._check_number("max_length_ratio")
        for name in ("source_language", "target_language"):
            if not isinstance(getattr(self, name), str | None):
                raise TypeError(f"{name} must be a code, got {getattr(self, name)!r}.")
        if self.top_p > 1:
            raise ValueError(f"top_p is a probability in (0, 1], got {self.top_p}.")
        for name, kind in (
            ("length_penalty_type", LengthPenaltyType),
            ("early_stopping", EarlyStopping),
        ):
            check_choice(name, getattr(self, name), get_args(kind))
        if self.max_length > _MOST_TOKENS:
            raise ValueError(f"max_length must be at most {_MOST_TOKENS}, got {self.max_length}.")
        if self.min_length > self.max_length:
            raise ValueError(
                f"min_length ({self.min_length}) is more than max_length ({self.max_length})."
            )
        for name in ("ban", "require", "stop"):
            object.__setattr__(self, name, check_strings(name, getattr(self, name)))
        object.__setattr__(self, "stop_tokens", check_stop_tokens(self.stop_tokens))
        self._normalize_tokens()
        self._check_sampling()
        if self.require:
            self.check_phrases()
        for name, value in checked_grammar(self.json_schema, self.regex, self.choices).items():
            object.__setattr__(self, name, value)
        grammar = self.grammar
        for name in ("stop", "require", "forced_tokens"):
            if grammar and getattr(self, name):
                raise ValueError(
                    f"{name} does not go with {grammar[0]}, which says where a text ends and "
                    "what it holds: leave one of them out."
                )

    @property
    def grammar(self) -> tuple[str, Any] | None:
        """The option that says what the whole text must follow, and its value; None for none."""
        given = ((name, getattr(self, name)) for name in GRAMMARS)
        return next(((name, value) for name, value in given if value is not None), None)

    def check_phrases(self) -> None:
        """Checks that a search can look for phrases.

        Raises:
            ValueError: It samples, or stops at a string or a token.
        """
        for name in ("sample", "stop", "stop_tokens"):
            if getattr(self, name):
                raise ValueError(
                    f"phrases that a text must hold do not go with {name}, got "
                    f"{getattr(self, name)!r}: leave one of them out."
                )

    def _check_integer(self, name: str, least: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"{name} must be an integer, got {value!r}.")
        object.__setattr__(self, name, int(value))
        if value < least:
            raise ValueError(f"{name} must be at least {least}, got {value}.")

    def _check_number(self, name: str, *, zero: bool = False) -> None:
        value = getattr(self, name)
        if isinstance(value, bool | str) or not hasattr(value, "__float__"):
            raise TypeError(f"{name} must be a number, got {value!r}.")
        try:
            value = float(value)
        except OverflowError:
            # An integer beyond all floating-point numbers.
            value = math.inf
        object.__setattr__(self, name, value)
        if not (math.isfinite(value) and (value > 0 or (zero and value == 0))):
            limit = "at least 0" if zero else "above 0"
            # Elsewhere 0 asks for greedy search.
            is_greedy = name == "temperature" and value == 0
            mend = ": leave it and sample=True out for greedy search" if is_greedy else ""
            raise ValueError(f"{name} must be finite and {limit}, got {value}{mend}.")

    def _normalize_tokens(self) -> None:
        """Makes tuples of lists, so that options can be hashed."""
        for name, width in (("banned_sequences", None), ("forced_tokens", 2)):
            try:
                rows = tuple(tuple(map(operator.index, row)) for row in getattr(self, name))
            except TypeError as error:
                raise TypeError(
                    f"{name} must be a list of lists of integers, got {getattr(self, name)!r}."
                ) from error
            for row in rows:
                if not row or (width and len(row) != width) or min(row) < 0:
                    expected = "a position and a token id" if width else "one or more token ids"
                    raise ValueError(f"each of {name} must hold {expected}, got {list(row)}.")
            object.__setattr__(self, name, rows)
        positions = [position for position, _ in self.forced_tokens]
        if len(set(positions)) < len(positions):
            raise ValueError(f"forced_tokens names a position twice: {list(self.forced_tokens)}.")

    def _check_sampling(self) -> None:
        if not isinstance(self.sample, bool):
            raise TypeError(f"sample must be True or False, got {self.sample!r}.")
        if self.sample and self.beam_size > 1:
            raise ValueError(f"sample=True needs beam_size 1, got {self.beam_size}.")
        if not self.sample and self.num_hypotheses > self.beam_size:
            raise ValueError(
                f"num_hypotheses ({self.num_hypotheses}) is more than beam_size "
                f"({self.beam_size}): raise beam_size or ask for fewer."
            )
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name in ("temperature", "top_k", "top_p", "seed", "first_place"):
            if not self.sample and getattr(self, name) != defaults[name]:
                raise ValueError(f"{name} is meant for sampling: give sample=True as well.")

    @property
    def rows_per_sentence(self) -> int:
        """Hypotheses that are extended side by side for each sentence: beams or samples."""
        return self.num_hypotheses if self.sample else self.beam_size

    @property
    def looks_past_ends(self) -> bool:
        """Whether a search goes on beyond the first end even with one beam."""
        return self.early_stopping == "exact" and not self.sample

    @property
    def named_ids(self) -> list[tuple[int, str]]:
        """The token ids that options name, each with the option's name."""
        named = [(token, "banned_sequences") for row in self.banned_sequences for token in row]
        named += [(token, "forced_tokens") for _, token in self.forced_tokens]
        return named + [(token, "stop_tokens") for token in self.stop_tokens]

    @property
    def needs_beams(self) -> bool:
        """Whether hypotheses of a sentence compete, so that the most probable token may not win."""
        return self.beam_size > 1 or self.looks_past_ends

    def stops(self, stream: Callable[[], SubwordStream] | None = None) -> Stops | None:
        """Returns what ends texts beside eos, None if nothing does; `stream` writes texts of ids.

        Raises:
            ValueError: There are `stop` strings, but no `stream` to find them in.
        """
        if not self.stop and not self.stop_tokens:
            return None
        return Stops(self.stop, self.stop_tokens, stream)

    def limit(self, source_length: int) -> int:
        """Returns the longest translation of a source of this many tokens, end token included."""
        if self.max_length_ratio is None:
            return self.max_length
        # 1.1 × 10 is a little more than 11.
        tokens = math.ceil(round(self.max_length_ratio * source_length, 9))
        return max(1, min(self.max_length, tokens))


class Candidate(NamedTuple):
    """One token sequence that a search found.

    Attributes:
        ids: Its token ids, without begin and end tokens; those of a stop are among them.
        score: `log_probability` over the length penalty; higher is better.
        log_probability: Sum of the tokens' log-probabilities in nats, the end token's included.
    """

    ids: list[int]
    score: float
    log_probability: float


# What a search returns of a source without tokens, and where no translation is possible.
EMPTY = Candidate([], 0.0, 0.0)
NOTHING_FOUND = Candidate([], -math.inf, -math.inf)


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        text: The translation.
        ids: Its token ids, without begin and end tokens; those of a stop are among them.
        score: `log_probability` over the length penalty; higher is better.
        log_probability: Sum of the tokens' log-probabilities in nats, the end token's included.
        attention: Each token's attention to the source, if it was requested: float32
            `(target_length, source_length)`, end tokens included, the mean of all layers and heads.
        low_confidence: Whether its mean log-probability per token is below the model's threshold,
            which the end of training calibrated; None if no threshold is known. Without scores,
            whether it shows signs of babble (`looks_like_babble`).
        stop_reason: What ended it: "stop" one of `stop` or `stop_tokens`, "eos" the end token,
            "length" its limit; None for a given text, or if nothing was found.
    """

    text: str
    ids: list[int]
    score: float
    log_probability: float
    attention: Any = dataclasses.field(default=None, compare=False)
    low_confidence: bool | None = None
    stop_reason: StopReason | None = None


def length_penalty(
    length: Any,
    options: SearchOptions,
    exponent: Any = None,
    *,
    minimum: Callable[[Any, float], Any] = min,
) -> Any:
    """Returns the divisor of a hypothesis's log-probability, at most 1e30.

    Args:
        length: Generated tokens, the end token included: a number or a floating array or tensor.
        options: Their `length_penalty` and `length_penalty_type`.
        exponent: Replaces `options.length_penalty` if not None: a number, or a
            tensor that broadcasts to `length`.
        minimum: Takes the smaller of two numbers, of arrays or tensors if `length` is one.
    """
    exponent = options.length_penalty if exponent is None else exponent
    is_plain = options.length_penalty_type == "exponent"
    try:
        return minimum((length if is_plain else (5.0 + length) / 6.0) ** exponent, _MOST_PENALTY)
    except OverflowError:
        # Arrays and tensors have infinity there, without an exception.
        return _MOST_PENALTY
