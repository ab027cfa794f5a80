"""Which options of a model the emitted graphs ("onnxruntime", "native") and float16 support,
collected from the declarations beside each emitter. A field that no emitter declares must have its
default: a new option is refused by name until an emitter declares it.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from keras_transformer.config.block_options import BlockOptions
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.config.stack import StackConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.export.onnx.heads import adaptive, of_encoders, vocabulary
from keras_transformer.export.onnx.layers import embedding, norms, recurrence, stack
from keras_transformer.export.onnx.layers.attention import distances, kinds, relative, rotary

EMITTERS = (
    kinds,
    rotary,
    relative,
    distances,
    recurrence,
    stack,
    norms,
    embedding,
    vocabulary,
    adaptive,
    of_encoders,
)


def unsupported(config: ModelConfig, target: str, precision: str) -> dict[str, Any]:
    """Returns the fields of a config and of its blocks that a kind of graph does not support.

    Args:
        config: The model's config.
        target: One of the manifest's targets. "portable" graphs in float32 are traced from the
            Keras model and hold every option but a decoder's recurrence.
        precision: One of `settings.PRECISIONS`.
    """
    if target == "portable" and precision == "float32":
        # The loop over its cells has no graph of steps.
        recurrence = getattr(config, "recurrence", None)
        return {"recurrence": recurrence} if recurrence else {}
    # The blocks say it of what these names stand for.
    of_blocks = {field.name for field in dataclasses.fields(BlockOptions)}
    own = ((name, value) for name, value in _not_held_at_all(config) if name not in of_blocks)
    parts = (part for stack in _stacks(config) for part in (stack, *stack.blocks))
    return dict([*own, *(found for part in parts for found in _lacking(part))])


def _stacks(config: ModelConfig) -> tuple[StackConfig, ...]:
    if isinstance(config, TransformerConfig):
        return config.encoder, config.decoder
    return (config.stack,)


def _lacking(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the unsupported fields of a value and of the values nested in it."""
    yield from _not_held_at_all(value)
    for field in dataclasses.fields(value):
        part = getattr(value, field.name)
        if dataclasses.is_dataclass(part):
            yield from _lacking(part)


def _not_held_at_all(value: Any) -> Iterator[tuple[str, Any]]:
    return not_held(value, [emitter.HOLDS for emitter in EMITTERS])


def not_held(
    value: Any, statements: Iterable[Mapping[type, set[str]]]
) -> Iterator[tuple[str, Any]]:
    """Yields the fields of a value that no statement covers and that differ from their default."""
    named = [one for statement in statements for one in statement.items()]
    held = {name for kind, names in named if isinstance(value, kind) for name in names}
    for field in dataclasses.fields(value):
        if field.name not in held and getattr(value, field.name) != field.default:
            yield field.name, getattr(value, field.name)


def check_expressible(config: ModelConfig, target: str, precision: str) -> None:
    """Raises a ValueError that names the fields which a kind of graph does not support."""
    if isinstance(config, EncoderConfig):
        config.check_exported()
    fields = unsupported(config, target, precision)
    if fields:
        values = ", ".join(f"{name}={value!r}" for name, value in fields.items())
        how = "" if "recurrence" in fields else "with target='portable' in float32, or "
        raise ValueError(
            f"{target} graphs in {precision} cannot hold {values}: export {how}as a SavedModel."
        )
