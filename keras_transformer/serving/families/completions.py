"""The completions of a served generator: prompts that are texts, ids or a chat, each with a search
of its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.runtime.prompts import (
    Ending,
    Piece,
    Prompt,
    PromptContinuer,
    Scored,
    TokenScore,
    begun_within,
)
from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.serving.errors import refusal

# Fields that a model's own values count for as soon as samples are drawn.
_OF_SAMPLES = ("temperature", "top_k", "top_p")


class CompletionRow(NamedTuple):
    """A prompt and its search.

    Attributes:
        prompt: The prompt.
        max_length: Most new tokens, the end token included; 0 for none.
        options: The search.
        scored: Which probabilities are wanted; None for none.
    """

    prompt: Prompt
    max_length: int
    options: SearchOptions
    scored: Scored | None = None


class Completion(NamedTuple):
    """A continuation of a prompt.

    Attributes:
        text: The text, without the prompt.
        ending: How it ended.
        scores: The tokens with their probabilities; empty if none are wanted.
    """

    text: str
    ending: Ending
    scores: Sequence[TokenScore] = ()


class Completions:
    """Completes prompts.

    Args:
        continuer: Continues prompts.
        search: The server's search.
        own: Fields of `SearchOptions` that the model was imported with.
        longest: Most tokens of a prompt after its first; None if there is no limit.
        template: The template of chats; None if the model has none.
        adapters: Names of the adapters that may continue prompts.

    Attributes:
        adapters: Names of the adapters that may continue prompts.
        search: The server's search, which finds one text for each prompt.
        has_chats: Whether the model has a template of chats.
    """

    def __init__(
        self,
        continuer: PromptContinuer,
        search: SearchOptions,
        own: Mapping[str, Any],
        longest: int | None,
        template: ChatTemplate | None,
        adapters: Sequence[str] = (),
    ) -> None:
        self._continuer, self._longest, self._template = continuer, longest, template
        self.search = replace(search, num_hypotheses=1)
        self.adapters = tuple(adapters)
        self.has_chats = template is not None
        self._of_samples = {name: own[name] for name in _OF_SAMPLES if name in own}

    def warm_up(self) -> None:
        """Opens what chats need, so that no request has to wait for it."""
        if self._template is not None:
            self._continuer.of_chat("a")

    def of_texts(self, texts: Sequence[str]) -> list[Prompt]:
        """Returns texts as prompts.

        Raises:
            ServingError: One is too long.
        """
        return self._fitting(self._continuer.of_texts(texts))

    def of_ids(self, rows: Sequence[Sequence[int]]) -> list[Prompt]:
        """Returns rows of ids as prompts.

        Raises:
            ServingError: One is empty, too long, or holds an id that the vocabulary lacks.
        """
        try:
            return self._fitting([self._continuer.of_ids(row) for row in rows])
        except ValueError as error:
            raise refusal(str(error), "prompt") from error

    def of_chat(
        self, messages: Sequence[Mapping[str, Any]], variables: Mapping[str, Any]
    ) -> Prompt:
        """Returns a chat as a prompt.

        Args:
            messages: Its messages.
            variables: What the template takes beside them.

        Raises:
            ServingError: The model has no chat template, it refuses the messages, or the prompt is
                too long.
        """
        if self._template is None:
            raise refusal(
                "the model has no chat template: ask /v1/completions, or import it with the "
                "chat_template of its tokenizer_config.json."
            )
        try:
            rendered = self._template.render(messages, variables)
            [prompt] = self._fitting([self._continuer.of_chat(rendered)], "messages")
        except ValueError as error:
            raise refusal(str(error), "messages") from error
        return prompt

    def options(self, given: Mapping[str, Any]) -> SearchOptions:
        """Returns the server's search with a request's options.

        Args:
            given: Fields of `SearchOptions`; with `sample`, whether it draws.

        Raises:
            ServingError: A value is out of range, or two contradict each other.
        """
        own = dict(given)
        if own.get("sample"):
            drawn = {} if self.search.sample else self._of_samples
            own = {**drawn, **own, "beam_size": 1}
        elif own.get("sample") is False and self.search.sample:
            own = {**own, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": None}
        own["max_length"] = min(
            own.get("max_length", self.search.max_length), self.search.max_length
        )
        shortest = own.get("min_length", self.search.min_length)
        own["min_length"] = min(shortest, own["max_length"])
        try:
            return replace(self.search, **own)
        except (TypeError, ValueError) as error:
            raise refusal(str(error)) from error

    def rows(
        self,
        prompts: Sequence[Prompt],
        options: SearchOptions,
        count: int,
        scored: Scored | None = None,
        writes: bool = True,
    ) -> list[CompletionRow]:
        """Returns `count` rows of each prompt side by side, of which none writes unless `writes`.

        With a seed each is drawn by itself, at its place, so that its text depends on nothing else.

        Raises:
            ServingError: No text can follow the search's grammar.
        """
        try:
            self._continuer.check_grammar(options)
        except (ValueError, ImportError) as error:
            raise refusal(str(error)) from error
        found = []
        for place, prompt in enumerate(one for one in prompts for _ in range(count)):
            own = options if options.seed is None else replace(options, first_place=place)
            found.append(CompletionRow(prompt, own.max_length if writes else 0, own, scored))
        return found

    def run(self, rows: Sequence[CompletionRow]) -> list[Completion]:
        """Returns each row's text."""
        groups: dict[Any, list[int]] = {}
        for place, row in enumerate(rows):
            alone = place if row.options.seed is not None else None
            if row.max_length:
                groups.setdefault((row.options, alone), []).append(place)
        nothing = Hypothesis("", [], 0.0, 0.0), Ending("length", 0)
        found = dict.fromkeys(range(len(rows)), nothing)
        for places in groups.values():
            prompts = [rows[place].prompt for place in places]
            results = self._continuer.search(prompts, rows[places[0]].options)
            found.update(zip(places, results, strict=True))
        return [self._completion(row, *found[place]) for place, row in enumerate(rows)]

    def _completion(self, row: CompletionRow, best: Hypothesis, ending: Ending) -> Completion:
        if row.scored is None:
            return Completion(best.text, ending)
        wanted = row.prompt, best.ids, len(best.ids), row.scored
        has_grammar = row.options.grammar is not None
        scores = [*self._continuer.scores(*wanted, follows_grammar=has_grammar)]
        if ending.reason == "stop":
            # A stop, and what belongs to it, is no part of the text.
            lead = len(row.prompt.text) if row.scored.with_prompt else 0
            scores = scores[: begun_within(scores, lead + len(best.text))]
        return Completion(best.text, ending, scores)

    def stream(self, row: CompletionRow, emit: Callable[[Piece | Ending], bool]) -> None:
        """Emits a row's pieces, and at last its `Ending`, until `emit` returns False.

        It is greedy even if the row's search has beams.
        """
        options = replace(row.options, beam_size=1)
        for piece in self._continuer.stream(row.prompt, options, row.scored):
            if not emit(piece):
                return

    def _fitting(self, prompts: Sequence[Prompt], param: str = "prompt") -> list[Prompt]:
        for number, prompt in enumerate(prompts):
            if self._longest is not None and len(prompt) - 1 > self._longest:
                raise refusal(
                    f"prompt {number} has {len(prompt) - 1} tokens after its first one, more than "
                    f"the limit of {self._longest}: shorten it.",
                    param,
                )
        return list(prompts)
