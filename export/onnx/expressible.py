"""Which options of a model its graphs can hold: a config and a form come in; an error leaves that
names the options which nothing can be exported with.
"""

import dataclasses

from keras_transformer.config import TransformerConfig

# What the emitted graphs of "onnxruntime" and "native" read from the model, as does the conversion
# to float16. A field that is not named here must have its default, so that a new option is refused
# until they know it.
_EMITTED = frozenset(
    {
        "source_vocab_size",
        "target_vocab_size",
        "model_dim",
        "feed_forward_dim",
        "num_heads",
        "key_dim",
        "value_dim",
        "num_encoder_layers",
        "num_decoder_layers",
        "dropout",
        "attention_dropout",
        "activation_dropout",
        "activation",
        "norm",
        "layer_norm_epsilon",
        "positions",
        "max_positions",
        "share_embeddings",
        "special_ids",
    }
)


def unsupported(config: TransformerConfig, target: str, precision: str) -> list[str]:
    """Returns the fields of a config that a form of the graphs cannot hold.

    Args:
        config: The model's config.
        target: One of the manifest's targets. "portable" graphs in float32 are traced from the
            Keras model and hold every option.
        precision: One of `settings.PRECISIONS`.
    """
    if target == "portable" and precision == "float32":
        return []
    plain = TransformerConfig(**{name: getattr(config, name) for name in _EMITTED})
    names = [field.name for field in dataclasses.fields(config)]
    return [name for name in names if getattr(config, name) != getattr(plain, name)]


def check_expressible(config: TransformerConfig, target: str, precision: str) -> None:
    """Raises a ValueError that names the fields which a form of the graphs cannot hold."""
    fields = unsupported(config, target, precision)
    if fields:
        values = ", ".join(f"{name}={getattr(config, name)!r}" for name in fields)
        raise ValueError(
            f"{target} graphs in {precision} cannot hold {values}: export with target='portable' "
            "in float32, or as a SavedModel."
        )
