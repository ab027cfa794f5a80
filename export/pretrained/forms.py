"""The forms of model that other toolkits can express, found by a config; of a config that none has,
the field is named.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keras_transformer.config.families import ModelConfig

# A size or a rate that every toolkit can choose.
_ALWAYS_FREE = frozenset(
    {
        "model_dim",
        "feed_forward_dim",
        "num_heads",
        "dropout",
        "attention_dropout",
        "activation_dropout",
        "special_ids",
        # Of models with two stacks.
        "source_vocab_size",
        "target_vocab_size",
        "num_encoder_layers",
        "num_decoder_layers",
        # Of models with one.
        "vocab_size",
        "num_layers",
        # Said by the tokenizer's files.
        "starts_prompts",
    }
)


@dataclass(frozen=True)
class ModelForm:
    """A kind of model of another toolkit.

    A field of the config that is named nowhere must have its default, so that a new option is
    refused until the form knows it.

    Attributes:
        name: The toolkit's name for it.
        values: The values that a field may have; None for any.
    """

    name: str
    values: Mapping[str, Sequence[Any] | None]

    def misfits(self, config: ModelConfig) -> Iterator[str]:
        """Yields, for each field of the config that the form does not have, what it needs."""
        for field in dataclasses.fields(config):
            value = getattr(config, field.name)
            allowed = self._allowed(field, config)
            if allowed is not None and value not in allowed:
                wanted = " or ".join(map(repr, allowed))
                yield f"{field.name}={wanted}, got {value!r}"

    def _allowed(self, field: Any, config: ModelConfig) -> Sequence[Any] | None:
        if field.name in self.values:
            return self.values[field.name]
        if field.name in _ALWAYS_FREE:
            return None
        if field.name == "marks":
            value: Any = getattr(config, field.name)
            return (field.default,) if value.ids or not value.source_eos else (value,)
        if field.name in ("key_dim", "value_dim"):
            # Where queries may have any width, values have that of queries.
            is_free = "key_dim" in self.values
            return (config.key_dim if is_free else config.model_dim // config.num_heads,)
        return (field.default,)


def form_of(config: ModelConfig, forms: Sequence[ModelForm]) -> ModelForm:
    """Returns the form that a config has.

    Raises:
        ValueError: It has none; the message says what the nearest form needs.
    """
    found = {form.name: list(form.misfits(config)) for form in forms}
    nearest = min(forms, key=lambda form: len(found[form.name]))
    if found[nearest.name]:
        choice = "" if len(forms) == 1 else f" (the nearest of {', '.join(found)})"
        raise ValueError(
            f"the format cannot hold this model: {nearest.name}{choice} needs "
            f"{'; '.join(found[nearest.name])}."
        )
    return nearest
