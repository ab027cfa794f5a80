"""Layers that are made from one frozen config value, which their files hold."""

import dataclasses
import json
from typing import Any, ClassVar, Self, get_args, get_type_hints

from keras_transformer.layers.variants.activations import serialized_activation
from keras_transformer.layers.variants.composite import Composite

# What Keras itself writes of a layer.
_OF_KERAS = ("name", "trainable", "dtype")


class Configured(Composite):
    """The base of layers with a config value.

    Args:
        config: What the layer is made of.
        **kwargs: As for `keras.layers.Layer`.
    """

    config: Any
    config_class: ClassVar[type]

    def __init__(self, config: Any, **kwargs: Any) -> None:
        if not isinstance(config, self.config_class):
            raise TypeError(f"config must be {self.config_class.__name__}, got {config!r}.")
        super().__init__(**kwargs)
        self.config = config

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments as plain values."""
        text = json.dumps(dataclasses.asdict(self.config), default=serialized_activation)
        return {**super().get_config(), "config": json.loads(text)}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Builds the layer from `get_config`'s result, or from that of a version before 0.2."""
        given = dict(config)
        if "config" in given:
            given["config"] = _value(cls.config_class, given["config"])
        else:
            of_keras = {name: given.pop(name) for name in _OF_KERAS if name in given}
            given = {**of_keras, **cls.arguments_of_flat(given)}
        layer: Self = super().from_config(given)
        return layer

    @classmethod
    def arguments_of_flat(cls, flat: dict[str, Any]) -> dict[str, Any]:
        """Returns the constructor's arguments from the options that files before 0.2 name."""
        return {"config": cls.config_class(**flat)}


def _value(config_class: Any, plain: dict[str, Any]) -> Any:
    """Returns the config value that plain values describe."""
    hints = get_type_hints(config_class)
    return config_class(**{name: _field(hints[name], one) for name, one in plain.items()})


def _field(hint: Any, plain: Any) -> Any:
    classes = [one for one in (hint, *get_args(hint)) if dataclasses.is_dataclass(one)]
    if not classes:
        return plain
    if isinstance(plain, list):
        return tuple(_field(hint, one) for one in plain)
    if not isinstance(plain, dict):
        return plain
    names = [{field.name for field in dataclasses.fields(one)} for one in classes]
    fitting = (one for one, known in zip(classes, names, strict=True) if set(plain) <= known)
    return _value(next(fitting), plain)
