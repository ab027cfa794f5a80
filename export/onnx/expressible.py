"""Which options of a model its graphs can hold: a config and a form come in; an error leaves that
names the options which nothing can be exported with.
"""

import dataclasses

from keras_transformer.config.families import ModelConfig

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
        "decoder_recurrence",
        "dropout",
        "attention_dropout",
        "activation_dropout",
        "activation",
        "norm",
        "layer_norm_epsilon",
        "norm_kind",
        "gated_feed_forward",
        "use_bias",
        "scale_attention",
        "num_key_value_heads",
        "rotary_base",
        "relative_buckets",
        "relative_per_block",
        "relative_max_distance",
        "positions",
        "max_positions",
        "position_offset",
        "sinusoid_layout",
        "scale_embeddings",
        "embedding_norm",
        "share_embeddings",
        "logit_bias",
        "special_ids",
        "marks",
        # Of models with one stack.
        "vocab_size",
        "num_layers",
        "num_token_types",
        "pooler",
        "pooler_activation",
        "keep_pooler",
        "head",
        "labels",
        "pooling",
        "dense",
        "unit_vectors",
        "prompts",
        "default_prompt",
        "max_row_length",
        "multi_label",
        "pair_separators",
        "tied_head",
    }
)


def unsupported(config: ModelConfig, target: str, precision: str) -> list[str]:
    """Returns the fields of a config that a form of the graphs cannot hold.

    Args:
        config: The model's config.
        target: One of the manifest's targets. "portable" graphs in float32 are traced from the
            Keras model and hold every option.
        precision: One of `settings.PRECISIONS`.
    """
    if target == "portable" and precision == "float32":
        return []
    fields = dataclasses.fields(config)
    return [
        field.name
        for field in fields
        if field.name not in _EMITTED and getattr(config, field.name) != field.default
    ]


def check_expressible(config: ModelConfig, target: str, precision: str) -> None:
    """Raises a ValueError that names the fields which a form of the graphs cannot hold."""
    fields = unsupported(config, target, precision)
    if fields:
        values = ", ".join(f"{name}={getattr(config, name)!r}" for name in fields)
        raise ValueError(
            f"{target} graphs in {precision} cannot hold {values}: export with target='portable' "
            "in float32, or as a SavedModel."
        )
