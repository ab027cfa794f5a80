"""ModernBERT (Warner et al. 2024): rotary positions with two bases, windows in turn with the whole
text, gated feed-forward layers, and neither biases nor a first norm.
"""

from collections.abc import Iterator
from typing import Any

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.common import shortest_turn
from keras_transformer.pretrained.huggingface.decoders.rope import read_rope
from keras_transformer.pretrained.huggingface.encoder_vocabulary import encoder_vocabulary
from keras_transformer.pretrained.huggingface.encoders.heads import head_fields
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.single_stacks import SingleStack
from keras_transformer.pretrained.sentence_transformers import dense_table
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.values import FileValues
from keras_transformer.pretrained.weight_table import Entry, linear

FULL, SLIDING = "full_attention", "sliding_attention"
# The base of rotary positions by the kind of a layer, as older files name it.
_OLDER_BASES = {FULL: ("global_rope_theta", 160_000.0), SLIDING: ("local_rope_theta", 10_000.0)}


def modernbert_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of a ModernBERT."""
    fields.require(classifier_activation=fields.text("hidden_activation", "gelu"))
    heads, width = fields.integer("num_attention_heads", least=1), fields.integer("hidden_size")
    pattern = [_options(fields, kind, width // heads) for kind in _turn(fields)]
    pooled = fields.text("classifier_pooling", "cls")
    return EncoderConfig(
        vocab_size=fields.vocab_size(),
        model_dim=width,
        feed_forward_dim=fields.integer("intermediate_size"),
        num_heads=heads,
        num_layers=fields.integer("num_hidden_layers"),
        activation=fields.activation("hidden_activation", "gelu"),
        gated_feed_forward=True,
        attention_bias=fields.flag("attention_bias", False),
        feed_forward_bias=fields.flag("mlp_bias", False),
        norm="pre",
        first_norm=False,
        layer_norm_epsilon=fields.number("norm_eps", 1e-5),
        dropout=fields.number("embedding_dropout", 0.0),
        attention_dropout=fields.number("attention_dropout", 0.0),
        activation_dropout=fields.number("mlp_dropout", 0.0),
        positions="none",
        max_positions=None,
        max_row_length=fields.integer("max_position_embeddings", 8192),
        block_pattern=tuple(pattern),
        num_token_types=0,
        pooler=False,
        text_state="mean" if pooled == "mean" else "first",
        head_transform=True,
        special_ids=special_ids,
        **head_fields(fields, tensors, "ModernBert"),
    )


def _turn(fields: Fields) -> list[str]:
    """Returns the kinds of the first layers, which the others repeat."""
    count = fields.integer("num_hidden_layers", least=1)
    every = fields.integer("global_attn_every_n_layers", 3, least=1)
    usual = [SLIDING if number % every else FULL for number in range(count)]
    kinds = fields.sequence("layer_types", usual)
    if len(kinds) != count or any(kind not in (FULL, SLIDING) for kind in kinds):
        raise ImportRefusedError(
            f"{fields.path} must name {SLIDING} or {FULL} in layer_types for each of the {count} "
            f"layers, has {kinds!r}."
        )
    return list(shortest_turn(kinds))


def _options(fields: Fields, kind: str, head_dim: int) -> dict[str, Any]:
    """Returns the options of a block whose layer is of a kind."""
    name, base = _OLDER_BASES[kind]
    older = FileValues(fields.path, {"rope_theta": fields.number(name, base)})
    ropes = fields.mapping("rope_parameters", FileValues(fields.path, {}))
    rope = read_rope(fields, head_dim, ropes.mapping(kind, older))
    if kind == FULL:
        return rope
    # Half of its places lie on each side, and a window counts the query's own.
    return {**rope, "window": fields.integer("local_attention", 128, least=2) // 2 + 1}


def modernbert_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a ModernBERT."""
    body = "model." if any(name.startswith("model.") for name in tensors) else ""
    yield Entry(model.embeddings.tokens.matrix, f"{body}embeddings.tok_embeddings.weight")
    yield from _norm(model.embeddings.layer_norm, f"{body}embeddings.norm")
    for number, block in enumerate(model.encoder_stack.blocks):
        here = f"{body}layers.{number}."
        *parts, output = block.attention.linear_layers
        for part, layer in enumerate(parts):
            yield from linear(layer, f"{here}attn.Wqkv", part=part, parts=3)
        yield from linear(output, f"{here}attn.Wo")
        *halves, output = block.feed_forward.linear_layers
        for part, layer in enumerate(halves):
            yield from linear(layer, f"{here}mlp.Wi", part=part, parts=2)
        yield from linear(output, f"{here}mlp.Wo")
        if block.attention_residual.layer_norm is not None:
            yield from _norm(block.attention_residual.layer_norm, f"{here}attn_norm")
        yield from _norm(block.feed_forward_residual.layer_norm, f"{here}mlp_norm")
    yield from _norm(model.encoder_stack.final_norm, f"{body}final_norm")
    if model.config.head == "embedding":
        yield from dense_table(model)
    elif model.config.head is not None:
        yield Entry(model.head.transform.kernel, "head.dense.weight", transposed=True)
        yield Entry(model.head.transform.bias, "head.dense.bias", absent=0.0)
        yield from _norm(model.head.layer_norm, "head.norm")
        if model.config.head == "masked_lm":
            yield Entry(model.head.bias, "decoder.bias", absent=0.0)
        else:
            yield from linear(model.head.linear, "classifier")


def _norm(layer: Any, name: str) -> Iterator[Entry]:
    """Yields the entries of a norm, whose bias their norms may lack."""
    yield Entry(layer.gamma, f"{name}.weight")
    yield Entry(layer.beta, f"{name}.bias", absent=0.0)


# By `model_type`.
MODERNBERTS = {
    "modernbert": SingleStack(
        modernbert_config,
        modernbert_table,
        ("decoder.weight",),
        encoder_vocabulary,
        search=lambda path, fields, special_ids: {},
        # A head for masked tokens beside a model that makes vectors.
        unused=("head.", "decoder."),
    )
}
