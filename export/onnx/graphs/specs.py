"""The signature of each graph of an artefact: names, types and shapes of its inputs and outputs, in
the order in which the graph declares them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.artefact.graph_names import CHAIN, SHORTLIST, graph_names
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.config.family import STEP_GRAPHS
from keras_transformer.export.onnx.heads.vocabulary import product_width
from keras_transformer.export.onnx.layers.recurrence import STATES, state_name

LOGITS = "logits"

Specs = tuple[list[GraphTensor], list[GraphTensor]]
# Where a decode step reads the weights of a shortlist's ids: "gathered", once a batch, by a graph
# of their own, or each "in place", from the whole vocabulary's.
Listing = Literal["gathered", "in place"]


def graph_specs(config: ModelConfig, listing: Listing | None = None) -> dict[str, Specs]:
    """Returns the inputs and outputs of each graph of a model, by the graph's name.

    Args:
        config: The model's.
        listing: Where steps read the weights of a shortlist's ids; None without a shortlist.
    """
    names = graph_names(config.to_dict())
    if isinstance(config, EncoderConfig):
        heads = {name: head_specs(one) for name, one in config.single_heads.items()}
        known = {"encoder": states_specs(config), CHAIN: chain_specs(config), **heads}
        return {name: known[name] for name in names}
    specs = {name: _OF_DECODERS[name](config) for name in names}
    return specs if listing is None else shortlisted(config, specs, listing)


def decoder_sizes(config: Any) -> tuple[int, int]:
    """Returns a decoder's number of blocks and of ids."""
    if isinstance(config, DecoderConfig):
        return config.num_layers, config.vocab_size
    return config.num_decoder_layers, config.target_vocab_size


def states_specs(config: EncoderConfig) -> Specs:
    """Returns the inputs and outputs of an encoder alone."""
    names = ["token_ids", *(["token_type_ids"] if config.num_token_types > 1 else [])]
    inputs = [GraphTensor(name=name, dtype="int32", shape=("batch", "length")) for name in names]
    shape = ("batch", "length", config.model_dim)
    return inputs, [GraphTensor(name="states", dtype="float32", shape=shape)]


def head_specs(config: EncoderConfig) -> Specs:
    """Returns the inputs and outputs of an encoder with its head, or with its pooler."""
    inputs, _ = states_specs(config)
    if config.head == "masked_lm":
        places = GraphTensor(name="places", dtype="int32", shape=("batch", "predictions"))
        inputs.append(places)
    outputs: dict[str | None, tuple[str, tuple[int | str, ...]]] = {
        None: ("pooled", ("batch", config.model_dim)),
        "masked_lm": (LOGITS, ("batch", "predictions", config.vocab_size)),
        "classification": (LOGITS, ("batch", len(config.labels))),
        "tagging": (LOGITS, ("batch", "length", len(config.labels))),
        "spans": (LOGITS, ("batch", "length", 2)),
        "regression": ("values", ("batch", 1)),
        "embedding": ("vectors", ("batch", config.vector_dim)),
    }
    name, shape = outputs[config.head]
    return inputs, [GraphTensor(name=name, dtype="float32", shape=shape)]


def chain_specs(config: EncoderConfig) -> Specs:
    """Returns the inputs and outputs of the graph that finds a text's tags together.

    Texts are padded after their words; results at padding mean nothing.
    """
    shape = ("batch", "words", len(config.labels))
    inputs = [
        GraphTensor(name=LOGITS, dtype="float32", shape=shape),
        GraphTensor(name="num_words", dtype="int32", shape=("batch",)),
    ]
    return inputs, [
        GraphTensor(name="tags", dtype="int32", shape=("batch", "words")),
        GraphTensor(name="probabilities", dtype="float32", shape=shape),
    ]


def encoder_specs(config: Any) -> Specs:
    """Returns the inputs and outputs of an encoder-decoder's encoder."""
    inputs = [GraphTensor(name="source_ids", dtype="int32", shape=("batch", "source_length"))]
    states = GraphTensor(
        name="encoder_states", dtype="float32", shape=("batch", "source_length", config.model_dim)
    )
    return inputs, [*_layer_specs(config, "cross", "batch", "source_length"), states]


def decoder_specs(config: Any) -> Specs:
    """Returns the decoder graph's inputs and outputs; rows = batch × beams."""
    inputs = [
        GraphTensor(name=_ids(config), dtype="int32", shape=("rows",)),
        GraphTensor(name="step", dtype="int32", shape=(1,)),
        GraphTensor(name="beam_size", dtype="int32", shape=(1,)),
        GraphTensor(name="num_candidates", dtype="int64", shape=(1,)),
        GraphTensor(name="totals", dtype="float32", shape=("batch", "beams")),
        *_mask_specs(config),
        GraphTensor(name="cache_beams", dtype="int32", shape=("batch", "beams", "cache_length")),
        *_cross_specs(config),
        *_cache_specs(config, "cache", "rows"),
    ]
    outputs = [
        GraphTensor(name="candidate_ids", dtype="int32", shape=("batch", "candidates")),
        GraphTensor(name="candidate_values", dtype="float32", shape=("batch", "candidates")),
        GraphTensor(name="candidate_beams", dtype="int32", shape=("batch", "candidates")),
        GraphTensor(name=LOGITS, dtype="float32", shape=("rows", decoder_sizes(config)[1])),
        *_cache_specs(config, "new_cache", "rows"),
    ]
    return inputs, outputs


def greedy_specs(config: Any) -> Specs:
    """Returns the greedy graph's inputs and outputs, with one row and candidate a sentence."""
    inputs, outputs = greedy_specs_with_logits(config)
    return inputs, [spec for spec in outputs if spec.name != LOGITS]


def greedy_specs_with_logits(config: Any) -> Specs:
    """Returns the inputs and outputs of a greedy graph that computes all logits."""
    left_out = ("beam_size", "num_candidates", "totals", "cache_beams")
    inputs, outputs = (
        [
            replace(spec, shape=tuple("batch" if size == "rows" else size for size in spec.shape))
            for spec in specs
            if spec.name not in left_out and not spec.name.startswith("candidate_")
        ]
        for specs in decoder_specs(config)
    )
    return inputs, [GraphTensor(name="next_ids", dtype="int32", shape=("batch",)), *outputs]


def greedy_scores_specs(config: Any) -> Specs:
    """Returns the inputs and outputs of the greedy graph that also gives log-probabilities."""
    inputs, outputs = greedy_specs_with_logits(config)
    values = GraphTensor(name="next_log_probabilities", dtype="float32", shape=("batch",))
    return inputs, [values, *outputs]


def scorer_specs(config: Any) -> Specs:
    """Returns the scorer graph's inputs and outputs."""
    alone = isinstance(config, DecoderConfig)
    scored = ("batch", "length" if alone else "target_length")
    inputs = [
        GraphTensor(name=_ids(config), dtype="int32", shape=scored),
        GraphTensor(name="labels", dtype="int32", shape=scored),
        *_mask_specs(config),
        *_cross_specs(config),
    ]
    outputs = [GraphTensor(name="log_probabilities", dtype="float32", shape=scored)]
    if not alone:
        shape = (*scored, "source_length")
        outputs.append(GraphTensor(name="attention", dtype="float32", shape=shape))
    return inputs, outputs


def prefill_specs(config: Any) -> Specs:
    """Returns the inputs and outputs of the graph that writes a prompt's keys and values.

    For a translation it also scores the tokens of the prefix that come first; a decoder alone may
    read on from the place `step`, one row at a time, with what the caches hold before.
    """
    alone = isinstance(config, DecoderConfig)
    rows, scored = ("rows" if alone else "batch"), ("batch", "scored")
    ids = GraphTensor(name=_ids(config), dtype="int32", shape=(rows, "length"))
    caches = _cache_specs(config, "cache", rows)
    written = [replace(spec, name=f"new_{spec.name}") for spec in caches]
    if alone:
        step = [GraphTensor(name="step", dtype="int32", shape=(1,))] if _reads_on(config) else []
        return [ids, *step, *caches], written
    labels = GraphTensor(name="labels", dtype="int32", shape=scored)
    inputs = [ids, labels, *_mask_specs(config), *_cross_specs(config), *caches]
    return inputs, [GraphTensor(name="log_probabilities", dtype="float32", shape=scored), *written]


def _reads_on(config: DecoderConfig) -> bool:
    """Whether places are counted, and not only distances between tokens that are read at once."""
    return config.recurrence is None and not config.relative_sinusoids


def shortlisted(config: Any, specs: dict[str, Specs], listing: Listing) -> dict[str, Specs]:
    """Returns the specs of graphs that choose among the ids of a batch's shortlist.

    Args:
        config: The model's.
        specs: Those of graphs that choose among all ids.
        listing: Where steps read the ids' weights.
    """
    ids = GraphTensor(name="shortlist_ids", dtype="int32", shape=("listed",))
    places = GraphTensor(name="shortlist_places", dtype="int32", shape=("batch", "most"))
    width = product_width(config.model_dim, has_bias=config.logit_bias)
    weights = GraphTensor(name="shortlist_weights", dtype="float32", shape=("listed", width))
    found = {}
    for name, (inputs, outputs) in specs.items():
        if name in STEP_GRAPHS:
            gathered = [weights] if listing == "gathered" else []
            inputs = [*inputs, ids, places, *gathered]
        elif name != "encoder":
            inputs = [*inputs, places, weights]
        outputs = [
            replace(spec, shape=(spec.shape[0], "most")) if spec.name == LOGITS else spec
            for spec in outputs
        ]
        found[name] = inputs, outputs
    return {**found, SHORTLIST: ([ids], [weights])}


def _ids(config: Any) -> str:
    return "token_ids" if isinstance(config, DecoderConfig) else "target_ids"


def _mask_specs(config: Any) -> list[GraphTensor]:
    """Returns the spec of the source's mask; none without a source."""
    if isinstance(config, DecoderConfig):
        return []
    return [GraphTensor(name="source_mask", dtype="int32", shape=("batch", "source_length"))]


def _cross_specs(config: Any) -> list[GraphTensor]:
    """Returns the specs of the source's keys and values; none without a source."""
    if isinstance(config, DecoderConfig):
        return []
    return _layer_specs(config, "cross", "batch", "source_length")


def _cache_specs(config: Any, prefix: str, rows: str) -> list[GraphTensor]:
    """Returns the specs of each decoder layer's cache of earlier tokens."""
    if not recurs(config):
        return _layer_specs(config, prefix, rows, "cache_length")
    shape = (rows, 1, STATES, config.model_dim)
    return [
        GraphTensor(name=state_name(prefix, layer), dtype="float32", shape=shape)
        for layer in range(decoder_sizes(config)[0])
    ]


def recurs(config: ModelConfig) -> bool:
    """Whether a decoder has a recurrence in place of self-attention."""
    return getattr(config, "decoder_recurrence", None) is not None


def _layer_specs(config: Any, prefix: str, rows: str, length: str) -> list[GraphTensor]:
    """Returns the specs of every decoder layer's keys and values, cross_key_0 and so on."""
    return [
        GraphTensor(
            name=f"{prefix}_{kind}_{layer}",
            dtype="float32",
            shape=(rows, config.key_value_heads, length, width),
        )
        for layer in range(decoder_sizes(config)[0])
        for kind, width in (("key", config.key_dim), ("value", config.value_dim))
    ]


_OF_DECODERS: dict[str, Callable[[Any], Specs]] = {
    "encoder": encoder_specs,
    "decoder": decoder_specs,
    "greedy": greedy_specs,
    "greedy_scores": greedy_scores_specs,
    "scorer": scorer_specs,
    "prefill": prefill_specs,
}
