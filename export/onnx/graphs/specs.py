"""The contract of each graph of an artefact: takes a model's sizes and returns the names, types and
shapes of inputs and outputs, in the order in which the graph declares them.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from keras_transformer.artefact.manifest import TensorSpec

LOGITS = "logits"

Specs = tuple[list[TensorSpec], list[TensorSpec]]


def encoder_specs(config: Any) -> Specs:
    """Returns the encoder graph's inputs and outputs for a `TransformerConfig`."""
    inputs = [TensorSpec(name="source_ids", dtype="int32", shape=("batch", "source_length"))]
    states = TensorSpec(
        name="encoder_states", dtype="float32", shape=("batch", "source_length", config.model_dim)
    )
    return inputs, [*_layer_specs(config, "cross", "batch", "source_length"), states]


def decoder_specs(config: Any) -> Specs:
    """Returns the decoder graph's inputs and outputs; rows = batch × beams."""
    inputs = [
        TensorSpec(name="target_ids", dtype="int32", shape=("rows",)),
        TensorSpec(name="step", dtype="int32", shape=(1,)),
        TensorSpec(name="beam_size", dtype="int32", shape=(1,)),
        TensorSpec(name="num_candidates", dtype="int64", shape=(1,)),
        TensorSpec(name="totals", dtype="float32", shape=("batch", "beams")),
        TensorSpec(name="source_mask", dtype="int32", shape=("batch", "source_length")),
        TensorSpec(name="cache_beams", dtype="int32", shape=("batch", "beams", "cache_length")),
        *_layer_specs(config, "cross", "batch", "source_length"),
        *_layer_specs(config, "cache", "rows", "cache_length"),
    ]
    outputs = [
        TensorSpec(name="candidate_ids", dtype="int32", shape=("batch", "candidates")),
        TensorSpec(name="candidate_values", dtype="float32", shape=("batch", "candidates")),
        TensorSpec(name="candidate_beams", dtype="int32", shape=("batch", "candidates")),
        TensorSpec(name=LOGITS, dtype="float32", shape=("rows", config.target_vocab_size)),
        *_layer_specs(config, "new_cache", "rows", "cache_length"),
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
    return inputs, [TensorSpec(name="next_ids", dtype="int32", shape=("batch",)), *outputs]


def greedy_scores_specs(config: Any) -> Specs:
    """Returns the inputs and outputs of the greedy graph that also gives log-probabilities."""
    inputs, outputs = greedy_specs_with_logits(config)
    values = TensorSpec(name="next_log_probabilities", dtype="float32", shape=("batch",))
    return inputs, [values, *outputs]


def scorer_specs(config: Any) -> Specs:
    """Returns the scorer graph's inputs and outputs."""
    target = ("batch", "target_length")
    inputs = [
        TensorSpec(name="target_ids", dtype="int32", shape=target),
        TensorSpec(name="labels", dtype="int32", shape=target),
        TensorSpec(name="source_mask", dtype="int32", shape=("batch", "source_length")),
        *_layer_specs(config, "cross", "batch", "source_length"),
    ]
    outputs = [
        TensorSpec(name="log_probabilities", dtype="float32", shape=target),
        TensorSpec(name="attention", dtype="float32", shape=(*target, "source_length")),
    ]
    return inputs, outputs


def _layer_specs(config: Any, prefix: str, rows: str, length: str) -> list[TensorSpec]:
    """Returns the specs of every decoder layer's keys and values, cross_key_0 and so on."""
    return [
        TensorSpec(
            name=f"{prefix}_{kind}_{layer}",
            dtype="float32",
            shape=(rows, config.key_value_heads, length, width),
        )
        for layer in range(config.num_decoder_layers)
        for kind, width in (("key", config.key_dim), ("value", config.value_dim))
    ]


SPECS: dict[str, Callable[[Any], Specs]] = {
    "encoder": encoder_specs,
    "decoder": decoder_specs,
    "greedy": greedy_specs,
    "greedy_scores": greedy_scores_specs,
    "scorer": scorer_specs,
}
