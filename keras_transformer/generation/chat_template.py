"""Chat templates of Hugging Face: messages to the text of a prompt, by `jinja2` in its sandbox; and
the file that keeps one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from keras_transformer.distribution import install_command

# Of runs and of artefacts whose model has one.
CHAT_TEMPLATE = "chat_template.json"
_FIELDS = ("template", "tokens")


class ChatError(ValueError):
    """Messages that a template refuses, or a template that is not valid."""


@dataclass(frozen=True)
class ChatTemplate:
    """A model's template, and the tokens that it names.

    Args:
        template: The text of the jinja template.
        tokens: The special tokens by the names that templates know, such as "bos_token".

    Raises:
        TypeError: One of them is not a string.

    Example:
        >>> template = ChatTemplate("{{ bos_token }}{{ messages[0].content }}", {"bos_token": "^"})
        >>> template.render([{"role": "user", "content": "Hello!"}])
        '^Hello!'
    """

    template: str
    tokens: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for text in (self.template, *self.tokens, *self.tokens.values()):
            if not isinstance(text, str):
                raise TypeError(f"a chat template and its tokens must be strings, got {text!r}.")

    @classmethod
    def from_json(cls, text: str | bytes) -> "ChatTemplate":
        """Reads `to_json`'s text back.

        Raises:
            ValueError: It is none.
        """
        try:
            values = json.loads(text)
            return cls(**{name: values[name] for name in _FIELDS})
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(
                f"it is not a chat template ({error!r}): import or export the model again."
            ) from error

    def to_json(self) -> str:
        """Returns the template as JSON."""
        values = {"template": self.template, "tokens": dict(self.tokens)}
        return json.dumps(values, ensure_ascii=False, indent=2) + "\n"

    def render(
        self,
        messages: Sequence[Mapping[str, Any]],
        variables: Mapping[str, Any] = MappingProxyType({}),
    ) -> str:
        """Returns the text of a chat, as `apply_chat_template` of Hugging Face does, and what
        begins an answer to it, unless the variable `add_generation_prompt` is False.

        Args:
            messages: Each with its "role" and "content".
            variables: Further variables that the template knows.

        Raises:
            ChatError: The template refuses the messages, is not valid, or finds no end.
            ImportError: The package jinja2 is missing.
        """
        known: dict[str, Any] = {"tools": None, "documents": None, "add_generation_prompt": True}
        known |= {**self.tokens, **variables, "messages": [dict(one) for one in messages]}
        try:
            text = str(self._compiled(known))
            # No tokenizer reads half a surrogate pair, which variables may hold.
            text.encode()
        except ImportError:
            raise
        except Exception as error:  # What a template does to values raises anything.
            raise ChatError(f"the model's chat template failed: {error}") from error
        return text

    @cached_property
    def _compiled(self) -> Any:
        try:
            from keras_transformer.generation.chat_sandbox import compiled
        except ImportError as error:
            raise ImportError(
                f"chat templates need the package jinja2: {install_command('serve')}"
            ) from error
        return compiled(self.template)
