"""BERT (Devlin et al. 2018) and the encoders that share its layers, RoBERTa, DistilBERT, MPNet
(Song et al. 2020) and ALBERT (Lan et al. 2019): alone or with a head that ours has, too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.encoder_vocabulary import (
    albert_vocabulary,
    encoder_vocabulary,
)
from keras_transformer.pretrained.huggingface.encoders.heads import head_fields
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.single_stacks import SingleStack
from keras_transformer.pretrained.sentence_transformers import dense_table
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Entry, linear, norm


@dataclass(frozen=True)
class Names:
    """The tensor names of an architecture.

    Attributes:
        body: The beginning of all names but a head's.
        blocks: The beginning of a block's, with its number or those of its group and within that.
        attention: Query, key, value, output and the norm behind them.
        feed_forward: Both linear layers and the norm behind them.
        masked: The transform, the norm and the bias of the head for masked tokens.
        classifier: The linear layer of a head for classes or tags.
        pooler: What classification reads, after the beginning of the others' names.
        relative: The biases by distance that all blocks share, after the beginning.
        projection: The linear layer behind narrow embeddings, after the beginning.
    """

    body: str
    blocks: str
    attention: tuple[str, str, str, str, str]
    feed_forward: tuple[str, str, str]
    masked: tuple[str, str, str]
    classifier: str = "classifier"
    pooler: str = "{}pooler.dense"
    relative: str = "encoder.relative_attention_bias"
    projection: str = "encoder.embedding_hidden_mapping_in"


# No field of theirs: keras-hub's BERT has another activation in its head for masked tokens.
MASKED_ACTIVATION = "masked_activation"
_POOLERS = (
    "pooler.dense.weight",
    "pooler.weight",
    "classifier.dense.weight",
    "pre_classifier.weight",
)
# Of RoBERTa's classifier, which holds the pooler.
OUT_PROJECTION = "{}.out_proj.weight"
_ATTENTION = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "attention.output.LayerNorm",
)
_FEED_FORWARD = ("intermediate.dense", "output.dense", "output.LayerNorm")
BERT = Names(
    "bert.",
    "encoder.layer.{}.",
    _ATTENTION,
    _FEED_FORWARD,
    (
        "cls.predictions.transform.dense",
        "cls.predictions.transform.LayerNorm",
        "cls.predictions.bias",
    ),
)
ROBERTA = Names(
    "roberta.",
    "encoder.layer.{}.",
    _ATTENTION,
    _FEED_FORWARD,
    ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
)
MPNET = Names(
    "mpnet.",
    "encoder.layer.{}.",
    (
        "attention.attn.q",
        "attention.attn.k",
        "attention.attn.v",
        "attention.attn.o",
        "attention.LayerNorm",
    ),
    _FEED_FORWARD,
    ROBERTA.masked,
)
DISTILBERT = Names(
    "distilbert.",
    "transformer.layer.{}.",
    (
        "attention.q_lin",
        "attention.k_lin",
        "attention.v_lin",
        "attention.out_lin",
        "sa_layer_norm",
    ),
    ("ffn.lin1", "ffn.lin2", "output_layer_norm"),
    ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
    pooler="pre_classifier",
)
ALBERT = Names(
    "albert.",
    "encoder.albert_layer_groups.{}.albert_layers.{}.",
    (
        "attention.query",
        "attention.key",
        "attention.value",
        "attention.dense",
        "attention.LayerNorm",
    ),
    ("ffn", "ffn_output", "full_layer_layer_norm"),
    ("predictions.dense", "predictions.LayerNorm", "predictions.bias"),
    pooler="{}pooler",
)


def bert_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of a BERT, RoBERTa, XLM-RoBERTa or MPNet."""
    fields.require(position_embedding_type="absolute", is_decoder=False)
    is_roberta = fields["model_type"] in ("roberta", "xlm-roberta", "mpnet")
    # RoBERTa counts positions from behind its padding's id.
    offset = fields.integer("pad_token_id", 1) + 1 if is_roberta else 0
    head = head_fields(fields, tensors, "Bert")
    if fields.get(MASKED_ACTIVATION, None) is not None:
        head["masked_activation"] = fields.activation(MASKED_ACTIVATION)
    if is_roberta and head["head"] == "masked_lm":
        # The head's own activation, whatever the config says.
        fields.require(hidden_act="gelu")
    return EncoderConfig(
        vocab_size=fields.vocab_size(),
        model_dim=fields.integer("hidden_size"),
        feed_forward_dim=fields.integer("intermediate_size"),
        num_heads=fields.integer("num_attention_heads", least=1),
        num_layers=fields.integer("num_hidden_layers"),
        activation=fields.activation("hidden_act", "gelu"),
        dropout=fields.number("hidden_dropout_prob", 0.1),
        attention_dropout=fields.number("attention_probs_dropout_prob", 0.1),
        layer_norm_epsilon=fields.number("layer_norm_eps", 1e-12),
        max_positions=fields.integer("max_position_embeddings") - offset,
        position_offset=offset,
        num_token_types=fields.integer("type_vocab_size", 2),
        pooler=any(name.endswith(_POOLERS) for name in tensors),
        special_ids=special_ids,
        **head,
    )


def mpnet_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of an MPNet, whose blocks share biases by distance; it has no token types.

    Its code fixes what the config only repeats: the number of buckets and the padding's id.
    """
    fields.require(relative_attention_num_buckets=32, pad_token_id=1)
    config = bert_config(fields, special_ids, tensors)
    return replace(config, num_token_types=0, relative_buckets=32)


def distilbert_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of a DistilBERT, which has no token types; its classifier has a pooler."""
    head = head_fields(fields, tensors, "DistilBert")
    has_pooler = any(name.endswith(_POOLERS) for name in tensors)
    return EncoderConfig(
        vocab_size=fields.vocab_size(),
        model_dim=fields.integer("dim"),
        feed_forward_dim=fields.integer("hidden_dim"),
        num_heads=fields.integer("n_heads"),
        num_layers=fields.integer("n_layers"),
        activation=fields.activation("activation", "gelu"),
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("attention_dropout", 0.1),
        max_positions=fields.integer("max_position_embeddings"),
        num_token_types=0,
        pooler=has_pooler,
        pooler_activation="relu" if has_pooler else "tanh",
        special_ids=special_ids,
        **head,
    )


def albert_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of an ALBERT, whose layers share blocks; its embeddings are narrow."""
    fields.require(position_embedding_type="absolute")
    head = head_fields(fields, tensors, "Albert")
    if head["head"] == "pretraining":
        raise ImportRefusedError(
            f"{fields.path} is of an AlbertForPreTraining, which tells whether two texts were "
            'swapped: for its other head, write "architectures": ["AlbertForMaskedLM"] there.'
        )
    layers = fields.integer("num_hidden_layers", least=1)
    groups = fields.integer("num_hidden_groups", 1, least=1)
    if layers % groups:
        raise ImportRefusedError(
            f"{fields.path} has num_hidden_layers: {layers} and num_hidden_groups: {groups}, and "
            "only groups of equally many layers are supported."
        )
    per_group = fields.integer("inner_group_num", 1, least=1)
    return EncoderConfig(
        vocab_size=fields.vocab_size(),
        embedding_dim=fields.integer("embedding_size", 128),
        model_dim=fields.integer("hidden_size"),
        feed_forward_dim=fields.integer("intermediate_size"),
        num_heads=fields.integer("num_attention_heads", least=1),
        num_layers=layers * per_group,
        block_groups=groups,
        blocks_per_group=per_group,
        activation=fields.activation("hidden_act", "gelu_new"),
        dropout=fields.number("hidden_dropout_prob", 0.0),
        attention_dropout=fields.number("attention_probs_dropout_prob", 0.0),
        layer_norm_epsilon=fields.number("layer_norm_eps", 1e-12),
        max_positions=fields.integer("max_position_embeddings"),
        num_token_types=fields.integer("type_vocab_size", 2),
        pooler=any(name.endswith(_POOLERS) for name in tensors),
        special_ids=special_ids,
        **head,
    )


def encoder_table(model: Any, tensors: Tensors, names: Names) -> Iterator[Entry]:
    """Yields the entries of an encoder with its head."""
    body = names.body if any(name.startswith(names.body) for name in tensors) else ""
    embeddings = model.embeddings
    here = f"{body}embeddings."
    yield Entry(embeddings.tokens.matrix, f"{here}word_embeddings.weight")
    if embeddings.positions is not None:
        yield Entry(embeddings.positions.matrix, f"{here}position_embeddings.weight")
    if embeddings.token_types is not None:
        yield Entry(embeddings.token_types.matrix, f"{here}token_type_embeddings.weight")
    yield from norm(embeddings.layer_norm, f"{here}LayerNorm")
    if model.encoder_stack.relative is not None:
        yield Entry(model.encoder_stack.relative.matrix, f"{body}{names.relative}.weight")
    if embeddings.projection is not None:
        yield from linear(embeddings.projection, f"{body}{names.projection}")
    for number, block in enumerate(dict.fromkeys(model.encoder_stack.blocks)):
        # Of names with one number the second is 0.
        here = body + names.blocks.format(*divmod(number, model.config.blocks_per_group))
        layers = (*block.attention.linear_layers, *block.feed_forward.linear_layers)
        called = (*names.attention[:4], *names.feed_forward[:2])
        for layer, name in zip(layers, called, strict=True):
            yield from linear(layer, here + name)
        yield from norm(block.attention_residual.layer_norm, here + names.attention[4])
        yield from norm(block.feed_forward_residual.layer_norm, here + names.feed_forward[2])
    yield from head_table(model, tensors, names, body)


def head_table(model: Any, tensors: Tensors, names: Names, body: str) -> Iterator[Entry]:
    """Yields the entries of what reads the states."""
    holds_pooler = OUT_PROJECTION.format(names.classifier) in tensors
    if model.pooler is not None:
        pooler = f"{names.classifier}.dense" if holds_pooler else names.pooler.format(body)
        yield from linear(model.pooler.linear, pooler)
    head = model.config.head
    if head in ("masked_lm", "pretraining"):
        transform, norm_name, bias = names.masked
        yield from linear(model.head.transform, transform)
        yield from norm(model.head.layer_norm, norm_name)
        yield Entry(model.head.bias, bias)
    if head == "pretraining":
        yield from linear(model.next_sentence.linear, "cls.seq_relationship")
    elif head == "embedding":
        yield from dense_table(model)
    elif head == "spans":
        yield from linear(model.head.linear, "qa_outputs")
    elif head in ("classification", "regression", "tagging"):
        name = f"{names.classifier}.out_proj" if holds_pooler else names.classifier
        yield from linear(model.head.linear, name)


# Aliases and tables of numbers.
_UNREAD = ("position_ids", "decoder.weight", "decoder.bias", "vocab_projector.weight")
# A pooler beside that of a classifier, and a head for next sentences without a pooler.
_UNUSED = (
    "pooler.dense.weight",
    "pooler.dense.bias",
    "pooler.weight",
    "pooler.bias",
    "cls.seq_relationship.",
    "sop_classifier.",
)


def _encoder(
    config: Callable[..., Any], names: Names, vocabulary: Any = encoder_vocabulary
) -> SingleStack:
    def table(model: Any, tensors: Tensors) -> Iterator[Entry]:
        return encoder_table(model, tensors, names)

    return SingleStack(
        config,
        table,
        _UNREAD,
        vocabulary,
        search=lambda path, fields, special_ids: {},
        unused=_UNUSED,
    )


# By `model_type`.
ENCODERS = {
    "bert": _encoder(bert_config, BERT),
    "roberta": _encoder(bert_config, ROBERTA),
    "xlm-roberta": _encoder(bert_config, ROBERTA),
    "mpnet": _encoder(mpnet_config, MPNET),
    "distilbert": _encoder(distilbert_config, DISTILBERT),
    "albert": _encoder(albert_config, ALBERT, albert_vocabulary),
}
