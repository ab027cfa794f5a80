"""The common part of completions and chats: prompts, each with one or more continuations."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from keras_transformer.runtime.prompts import Ending, Piece, Prompt, Scored, TokenScore
from keras_transformer.search.options import SearchOptions
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.families.completions import Completion, Completions
from keras_transformer.serving.http.openai.endpoint import Asked, cannot
from keras_transformer.serving.http.openai.fields import Fields, wrong
from keras_transformer.serving.models.rows import Request
from keras_transformer.serving.models.served import Completing

_USAGE, _PADDING = "include_usage", "include_obfuscation"


@dataclass
class Generation:
    """A request for texts.

    Args:
        asked: The request.
        name: Its name in metrics and log.
        completions: Completes prompts.
        options: The search.
        count: Number of texts for each prompt.
        sentences: Number of texts altogether.
        read: Returns the prompts.
        texts: The request's texts, which may go into the log.
        scored: Which tokens' probabilities are wanted; None for none.
        writes: Whether anything is written after the prompts.

    Attributes:
        prompts: The prompts, once they are read.
    """

    asked: Asked
    name: str
    completions: Completions
    options: SearchOptions
    count: int
    sentences: int
    read: Callable[[], list[Prompt]]
    texts: Sequence[str] = ()
    scored: Scored | None = None
    writes: bool = True
    prompts: list[Prompt] = field(default_factory=list)

    async def results(self) -> list[Completion]:
        """Returns the texts, those of one prompt side by side."""
        asked = self.asked
        _, found = await asked.service.run(
            asked.loaded,
            self.name,
            self._rows,
            self.completions.run,
            sentences=self.sentences,
            texts=self.texts,
            # A chat's template may do anything, and ids are written out as text.
            is_quick=False,
            timeout=asked.timeout,
            waiting=asked.waiting,
        )
        for one in found:
            self.check(one.ending)
        return found

    def check(self, ending: Ending) -> None:
        """Checks that a text could end.

        Raises:
            ServingError: Its grammar allowed neither an end nor another token.
        """
        if ending.reason is None and self.options.grammar:
            raise refusal(
                f"the model's vocabulary cannot write a text that fulfils {self.options.grammar[0]}"
                ", or it is too complex: ask for something else."
            )

    async def pieces(self) -> AsyncGenerator[tuple[int, Piece | Ending], None]:
        """Yields the pieces of each text with its place, and at last how it ended."""
        found = self.asked.service.stream_rows(
            self.asked.loaded,
            self.name,
            self._rows,
            self.completions.stream,
            sentences=self.sentences,
            texts=self.texts,
            # A chat's template may do anything, and ids are written out as text.
            is_quick=False,
            timeout=self.asked.timeout,
        )
        async with aclosing(found) as pieces:
            async for piece in pieces:
                yield piece

    def prompt_of(self, place: int) -> Prompt:
        """Returns the prompt of the text at a place."""
        return self.prompts[place // self.count]

    def usage(self, endings: Sequence[Ending]) -> dict[str, int]:
        """Returns the numbers of tokens, the first of a prompt and the end token included."""
        read = sum(len(prompt) for prompt in self.prompts)
        generated = sum(ending.tokens for ending in endings)
        return {
            "prompt_tokens": read,
            "completion_tokens": generated,
            "total_tokens": read + generated,
        }

    def _rows(self) -> Request:
        adapter = self.asked.loaded.adapter
        self.prompts = [replace(prompt, adapter=adapter) for prompt in self.read()]
        return Request(
            self.completions.rows(self.prompts, self.options, self.count, self.scored, self.writes)
        )


def completing(asked: Asked) -> Completions:
    """Returns the `Completions` of the model that is asked.

    Raises:
        ServingError: It is no generator.
    """
    model = asked.loaded.model
    if not isinstance(model, Completing):
        raise cannot(asked.loaded, "neither complete texts nor chat")
    return model.completions


def finish_reason(ending: Ending) -> str:
    """Returns why a text ended, in OpenAI's words."""
    return "length" if ending.reason == "length" else "stop"


def read_streaming(fields: Fields) -> tuple[bool, bool]:
    """Takes whether an answer is streamed, and whether it ends with the numbers of tokens."""
    streams = fields.flag("stream")
    options: Any = fields.take("stream_options", {})
    if not isinstance(options, dict):
        raise wrong("stream_options", "an object", options)
    within = Fields(options)
    has_usage = within.flag(_USAGE)
    # Padding against those who measure encrypted answers; there is none here.
    within.flag(_PADDING)
    within.finish((), {})
    if options and not streams:
        raise wrong("stream_options", "left out without stream", options)
    return streams, has_usage


def chunked(
    generation: Generation,
    head: dict[str, Any],
    begin: Callable[[int], dict[str, Any]],
    piece: Callable[[str], dict[str, Any]],
    end: dict[str, Any],
    scores: Callable[[int, Sequence[TokenScore]], Any],
    has_usage: bool,
) -> AsyncGenerator[dict[str, Any], None]:
    """Returns the chunks of a streamed answer.

    Args:
        generation: What is asked for.
        head: The first fields of each chunk.
        begin: Returns the fields of a text's first chunk, by the text's place; {} for none.
        piece: Returns the fields of a piece's chunk.
        end: The fields of a text's last chunk beside the reason.
        scores: Returns the probabilities of tokens that a chunk of a text has, by the text's place.
        has_usage: Whether the last chunk of all has the numbers of tokens.
    """
    unused: dict[str, Any] = {"usage": None} if has_usage else {}

    def chunk(
        index: int, content: dict[str, Any], reason: str | None = None, probable: Any = None
    ) -> dict[str, Any]:
        choice = {"index": index, **content, "logprobs": probable, "finish_reason": reason}
        return {**head, "choices": [choice], **unused}

    async def chunks() -> AsyncGenerator[dict[str, Any], None]:
        begun, endings = -1, []
        async with aclosing(generation.pieces()) as pieces:
            async for index, found in pieces:
                if index > begun:
                    begun = index
                    if first := begin(index):
                        yield chunk(index, first)
                if isinstance(found, Ending):
                    generation.check(found)
                    endings.append(found)
                    yield chunk(index, end, finish_reason(found))
                else:
                    probable = scores(index, found.scores) if found.scores else None
                    yield chunk(index, piece(found.text), probable=probable)
        if has_usage:
            yield {**head, "choices": [], "usage": generation.usage(endings)}

    return chunks()
