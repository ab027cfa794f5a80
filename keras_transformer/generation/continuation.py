"""The text that follows a prompt, with the space that separates it from the prompt."""

import itertools
from collections.abc import Iterable, Iterator, Sequence

from keras_transformer.search.grammars import GrammarState
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.stops import StopReason
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.translation.written import Written


class Continuation(Written):
    """One continuation that is being written.

    The prompt and the continuation, joined, are the whole text: a new word brings its space.

    Args:
        text_ids: Texts and ids.
        options: The search's options, for its stops.
        prompt: The text that is continued.
        prompt_ids: Its ids, or the last of them.
        grammar: The state of an empty text in the grammar that it follows; None for none.
    """

    def __init__(
        self,
        text_ids: TextIds,
        options: SearchOptions,
        prompt: str,
        prompt_ids: Sequence[int],
        grammar: GrammarState | None = None,
    ) -> None:
        super().__init__(text_ids, options, prompt_ids)
        self._subwords = text_ids.subwords
        self._prompt = prompt
        self._grammar = grammar

    def pieces(self, tokens: Iterable[int]) -> Iterator[str]:
        """Yields the text of all new tokens in pieces that are never empty; called once."""
        tokens = map(self._take, tokens)
        first = list(itertools.islice(tokens, 1))
        pieces = super().pieces(itertools.chain(first, tokens))
        if not self._subwords.keeps_spaces:
            # To a grammar, the space before the first word is no part of the text.
            if self._grammar is not None or self._prompt[-1:].isspace():
                pieces = _without_lead(pieces)
            elif self._prompt and not self.said and first and self._begins_word(first[0]):
                # Nothing of the prompt has an id, so that this word counted as a text's first.
                pieces = itertools.chain([" "], pieces)
        return filter(None, pieces)

    def stop_reason(self, length: int, limit: int) -> StopReason | None:
        """Returns what ended a text, as `Written.stop_reason`; None where its grammar allowed
        neither an end nor another token.
        """
        reason = super().stop_reason(length, limit)
        return reason if self.is_whole or reason == "length" else None

    @property
    def is_whole(self) -> bool:
        """Whether it fulfils its grammar, if there is one."""
        return self._grammar is None or self._grammar.is_whole

    def _take(self, token: int) -> int:
        if self._grammar is not None:
            self._grammar = self._grammar.after(token) or self._grammar
        return token

    def _begins_word(self, token: int) -> bool:
        return self._subwords.spelling(token).startswith(" ")


def _without_lead(pieces: Iterator[str]) -> Iterator[str]:
    """Yields pieces of a text without the spaces that it begins with."""
    begun = False
    for piece in pieces:
        text = piece if begun else piece.lstrip(" ")
        begun = begun or bool(text)
        yield text
