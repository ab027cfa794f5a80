"""Grammars of texts over a vocabulary: JSON schemas, regular expressions and choices, by the
package `llguidance`.
"""

import functools
import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.distribution import install_command
from keras_transformer.search.grammars import Flags, GrammarState
from keras_transformer.search.options import SearchOptions
from keras_transformer.translation.text_ids import TextIds

# Without it a token that continues a forced text would be chosen for the model.
_UNFORCED = '%llguidance {"no_forcing": true}\n'
# At most one space between the parts of JSON: a model may not write spaces for ever.
_JSON = {"x-guidance": {"whitespace_pattern": "[ ]?"}}
# What a stranger's grammar may cost, at most a few milliseconds a token: a fifth to a tenth of the
# package's own limits.
_LIMITS = {
    "initial_lexer_fuel": 200_000,
    "step_lexer_fuel": 50_000,
    "step_max_items": 10_000,
    "max_lexer_states": 20_000,
    "max_grammar_size": 50_000,
    "verbose_errors": False,
}
# Grammars of earlier searches that are kept.
_KEPT = 32
# What OpenAI calls json_object.
_ANY_OBJECT = json.dumps({"type": "object"})
# First characters of a grammar's texts that an error names.
_NAMED = 3
_MOST_SHOWN = 300
# Where in the grammar that it was made of, which nobody wrote.
_PLACE = re.compile(r"^at \d+\(\d+\): (failed to compile JSON schema: )?|^\d+ \|.*|^\^$")


class Grammars:
    """The grammars that texts of a vocabulary can follow; any number of threads may share it.

    A vocabulary whose ids do not keep spaces writes one before the first word, which is no part of
    the text that the grammar is about.

    Args:
        text_ids: Texts and ids.
        vocab_size: How many ids the model has.
    """

    def __init__(self, text_ids: TextIds, vocab_size: int) -> None:
        self._text_ids, self._vocab_size = text_ids, vocab_size
        self._start = functools.lru_cache(maxsize=_KEPT)(self._compiled)

    def start(self, options: SearchOptions) -> GrammarState | None:
        """Returns the state of an empty text; None if the options name no grammar.

        Raises:
            ImportError: The package `llguidance` is missing.
            ValueError: The grammar is not valid, too complex, or the vocabulary cannot write it.
        """
        if not options.grammar:
            return None
        return self._start(*options.grammar, options.stop_tokens)

    def _compiled(
        self, name: str, value: str | tuple[str, ...], stop_tokens: tuple[int, ...]
    ) -> GrammarState:
        matcher = _matcher(self._tokenizer, name, value)
        if matcher.is_error():
            raise ValueError(f"{name} cannot be followed: {_reason(matcher.get_error())}")
        ends = {token for token in stop_tokens if token < self._vocab_size}
        ends |= {self._text_ids.special_ids.eos}
        inside = np.arange(self._vocab_size)
        start = _State(matcher, self._first_names, inside, np.array(sorted(ends)))
        if not start.allowed.any():
            called = f"{name} of any object (json_object)" if value == _ANY_OBJECT else name
            first = " or ".join(_first_characters(name, value))
            needed = f", which begins with {first}: train on texts that have it" if first else ""
            raise ValueError(
                f"{called} cannot be followed: no token of the vocabulary begins such a text"
                f"{needed}."
            )
        return start

    @functools.cached_property
    def _spelled(self) -> list[tuple[bytes, bytes]]:
        """What each id adds to a text, at its beginning and behind others; b"" for nothing."""
        subwords, nothing = self._text_ids.subwords, (b"", b"")
        silent = self._text_ids.special_ids.without_text
        return [
            subwords.token_bytes(token)
            if token < subwords.size and token not in silent
            else nothing
            for token in range(self._vocab_size)
        ]

    @functools.cached_property
    def _first_names(self) -> npt.NDArray[np.int64]:
        """The ids in `_tokenizer` that stand for those of the vocabulary at a text's beginning."""
        names = np.arange(self._vocab_size)
        others = [first != inside for first, inside in self._spelled]
        names[others] = self._vocab_size + np.arange(sum(others))
        return names

    @functools.cached_property
    def _tokenizer(self) -> Any:
        """The vocabulary and, behind it, what is spelled otherwise at the beginning of a text."""
        llguidance = _package()
        spelled = [inside for _, inside in self._spelled]
        spelled += [first for first, inside in self._spelled if first != inside]
        # What has no text has a name that no text holds.
        tokens = [text or b"\xff%d" % token for token, text in enumerate(spelled)]
        vocabulary = _Vocabulary(tokens, self._text_ids.special_ids.eos)
        return llguidance.LLTokenizer(llguidance.TokenizerWrapper(vocabulary))


class _Vocabulary:
    """What the package takes as a tokenizer."""

    bos_token_id, special_token_ids = None, ()

    def __init__(self, tokens: list[bytes], eos: int) -> None:
        self.tokens, self.eos_token_id = tokens, eos

    def __call__(self, text: bytes) -> list[int]:
        """Splits no text: nothing is forced."""
        return []


class _State:
    """A `GrammarState`.

    Args:
        matcher: The package's state; nobody else changes it.
        names: What the package calls the next id, `(vocabulary,)`.
        names_inside: What it calls those behind it.
        ends: The ids that end a text.
    """

    def __init__(
        self,
        matcher: Any,
        names: npt.NDArray[np.int64],
        names_inside: npt.NDArray[np.int64],
        ends: npt.NDArray[np.int64],
    ) -> None:
        self._matcher, self._names, self._ends = matcher, names, ends
        self._names_inside = names_inside

    @functools.cached_property
    def allowed(self) -> Flags:
        """As `GrammarState.allowed`; nothing where the grammar has become too complex."""
        if self._matcher.is_error():
            return np.zeros(len(self._names), bool)
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        flags: Flags = np.unpackbits(bits, bitorder="little")[self._names].astype(bool)
        flags[self._ends] = self.is_whole
        return flags & (not self._matcher.is_error())

    @property
    def is_whole(self) -> bool:
        """As `GrammarState.is_whole`."""
        return bool(self._matcher.is_accepting())

    def after(self, token: int) -> "_State | None":
        """As `GrammarState.after`."""
        if token in self._ends:
            return None
        matcher = self._matcher.deep_copy()
        matcher.consume_token(int(self._names[token]))
        return _State(matcher, self._names_inside, self._names_inside, self._ends)


def _package() -> Any:
    try:
        import llguidance
    except ImportError as error:
        raise ImportError(
            "json_schema, regex and choices need the package llguidance: install it with "
            f"`{install_command('structured')}`."
        ) from error
    return llguidance


def _matcher(tokenizer: Any, name: str, value: str | tuple[str, ...]) -> Any:
    """Returns the package's state of an empty text that follows a grammar."""
    llguidance = _package()
    return llguidance.LLMatcher(
        tokenizer,
        _UNFORCED + _lark(llguidance, name, value),
        log_level=0,
        limits=llguidance.LLParserLimits(**_LIMITS),
    )


def _first_characters(name: str, value: str | tuple[str, ...]) -> list[str]:
    """Returns how texts begin that follow a grammar: a few characters, and whether others do."""
    llguidance, end = _package(), 256
    single_bytes = [bytes([byte]) for byte in range(end)]
    vocabulary = _Vocabulary([*single_bytes, b"\xffend"], end)
    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(vocabulary))
    begun = [(b"", _matcher(tokenizer, name, value))]
    found: list[str] = []
    while begun and len(found) <= _NAMED:
        before, matcher = begun.pop(0)
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
        for byte in np.flatnonzero(bits[:end]).tolist():
            text = before + single_bytes[byte]
            try:
                found.append(text.decode())
            except UnicodeDecodeError:
                begun.append((text, matcher.deep_copy()))
                begun[-1][1].consume_token(byte)
    return [*map(repr, found[:_NAMED]), *["others"] * (len(found) > _NAMED)]


def _lark(llguidance: Any, name: str, value: Any) -> str:
    """Returns a grammar in the package's language."""
    if name == "json_schema":
        schema = json.loads(value)
        return f"start: %json {json.dumps(_JSON if schema is True else schema | _JSON)}"
    if name == "regex":
        return f"start: /{llguidance.regex_to_lark(value, '')}/"
    return f"start: {' | '.join(map(json.dumps, value))}"


def _reason(message: str) -> str:
    """Returns what is wrong with a grammar, in one line."""
    lines = [_PLACE.sub("", line.strip()) for line in message.splitlines()]
    return " ".join(filter(None, lines))[:_MOST_SHOWN]
