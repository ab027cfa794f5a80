"""The target "portable": graphs of standard operators only, for runtimes other than onnxruntime.
tf2onnx converts the model's own functions, so these graphs also serve to check the emitted ones.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
import tensorflow as tf

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.artefact.graph_names import SHORTLIST
from keras_transformer.config.family import STEP_GRAPHS
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.readers import decoder_parts, single_head
from keras_transformer.export.onnx.graphs.specs import (
    LOGITS,
    Listing,
    Specs,
    decoder_sizes,
    graph_specs,
    recurs,
)
from keras_transformer.export.onnx.graphs.stages import ENCODED, Stage, StagedEncoder, Stages
from keras_transformer.export.onnx.graphs.tracing import share_transposed
from keras_transformer.export.onnx.heads import candidates, listed
from keras_transformer.export.onnx.heads.vocabulary import vocabulary_matrix
from keras_transformer.export.onnx.layers.attention.kinds import named
from keras_transformer.export.onnx.layers.recurrence import STATES, state_name
from keras_transformer.export.onnx.quantize.kernels import Float32
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.decoder.block import Cache
from keras_transformer.layers.masks import padding_mask
from keras_transformer.layers.variants.scores import soft_capped
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.decoding_steps import Source
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.transformer import Transformer

Tensors = dict[str, tf.Tensor]

# The place of a prompt's first token.
_FIRST = np.int32(0)


class Portable:
    """The target "portable"; see `target.Target`.

    Args:
        has_shortlist: Whether logits are those of a shortlist's ids.
    """

    listing: Listing = "gathered"

    def __init__(self, *, has_shortlist: bool = False) -> None:
        self._has_shortlist = has_shortlist
        self._stages = Stages()

    def graph(self, name: str, model: AnyModel, opset: int) -> onnx.ModelProto:
        """Converts the model's functions, emits the end of a decoder step; see `Target.graph`."""
        inputs, outputs = graph_specs(model.config, self.listing if self._has_shortlist else None)[
            name
        ]
        graph = GraphBuilder(inputs, opset)
        if name == SHORTLIST:
            matrix = vocabulary_matrix(decoder_parts(model))
            listed.output_weights(graph, Float32(), matrix)
            return graph.finish(outputs)
        specs = (inputs, outputs)
        if name in STEP_GRAPHS:
            self._emit_step(graph, name, model, specs)
        elif name == "encoder" or isinstance(model, EncoderOnly):
            self._emit_encoder(graph, name, single_head(model, name), specs)
        else:
            found = self._converted_into(graph, _function(name, model), model, specs)
            graph.outputs(found, found.values())
        finished = graph.finish(outputs)
        share_transposed(finished.graph)
        return finished

    def _emit_step(
        self, graph: GraphBuilder, name: str, model: Transformer | DecoderOnly, specs: Specs
    ) -> None:
        """Converts a decode step to its logits and emits the rest."""
        inputs, outputs = specs
        # The width of logits is known only when the graph runs if they are those of a shortlist.
        vocabulary = None if self._has_shortlist else decoder_sizes(model.config)[1]
        # The end of a step reads the logits and computes the remaining outputs.
        made = [spec for spec in outputs if not spec.name.startswith(("candidate_", "next_"))]
        if LOGITS not in {spec.name for spec in made}:
            shape = ("rows", "most" if vocabulary is None else vocabulary)
            made.append(GraphTensor(name=LOGITS, dtype="float32", shape=shape))
        unread = ("num_candidates", "totals", listed.IDS)
        read = [spec for spec in inputs if spec.name not in unread]
        found = self._converted_into(graph, _decode_step, model, (read, made))
        logits = found.pop(LOGITS)
        graph.outputs(found, found.values())
        if name == "decoder":
            asked = ("num_candidates", "totals")
            ids, *others = candidates.best_continuations(graph, logits, vocabulary, *asked)
            ids = listed.ids_at(graph, ids) if self._has_shortlist else ids
            graph.outputs(("candidate_ids", "candidate_values", "candidate_beams"), (ids, *others))
            graph.output(LOGITS, logits)
            return
        places = ids = candidates.best_token(graph, logits, vocabulary)
        if self._has_shortlist:
            ids = listed.next_ids_at(graph, places)
        if name == "greedy":
            graph.output("next_ids", ids)
        else:
            candidates.output_scored(graph, logits, places, ids)

    def _emit_encoder(
        self, graph: GraphBuilder, name: str, model: Transformer | EncoderOnly, specs: Specs
    ) -> None:
        """Converts an encoder and the layers that read its states."""
        inputs, outputs = specs
        encoder = StagedEncoder(model, [spec for spec in inputs if spec.name != "places"])
        states = self._stages.add_encoder(graph, encoder)
        function: Callable[[Any, Tensors], Tensors] = _head
        if isinstance(model, Transformer):
            function, outputs = _cross, [spec for spec in outputs if spec.name != "encoder_states"]
            graph.output("encoder_states", states)
        elif name == "encoder":
            graph.output(ENCODED, states)
            return
        values = {**{spec.name: spec.name for spec in inputs}, ENCODED: states}
        stage = Stage(
            (function, model),
            partial(function, model),
            ([*inputs, encoder.states], outputs),
            encoder.weights_outside(),
        )
        found = self._stages.add(graph, stage, values)
        graph.outputs(found, found.values())

    def _converted_into(
        self,
        graph: GraphBuilder,
        function: Callable[[Any, Tensors], Tensors],
        model: AnyModel,
        specs: Specs,
    ) -> dict[str, str]:
        """Adds the nodes of a function of a model; returns its outputs' values by name."""
        key = (function, model, *(spec.name for spec in specs[0]))
        stage = Stage(key, partial(function, model), specs, model.weights)
        return self._stages.add(graph, stage, {spec.name: spec.name for spec in specs[0]})


def _function(name: str, model: Transformer | DecoderOnly) -> Callable[[Any, Tensors], Tensors]:
    """Returns the function of a graph that is neither an encoder nor a decode step."""
    if isinstance(model, DecoderOnly):
        return _score_text if name == "scorer" else _read_prompt
    return {"scorer": _score, "prefill": _read_prefix}[name]


def _head(model: EncoderOnly, given: Tensors) -> Tensors:
    """Runs an encoder's head or its pooler on the encoder's states."""
    [output] = (spec.name for spec in graph_specs(model.config)["head"][1])
    states = given[ENCODED]
    if "places" in given:
        return {output: model.head(tf.gather(states, given["places"], batch_dims=1))}
    found = model.outputs_of(states, padding_mask(given["token_ids"], model.config.special_ids.pad))
    return {output: found["pooled"] if model.config.head is None else found}


def _read_prompt(model: DecoderOnly, given: Tensors) -> Tensors:
    """Writes the keys and values of whole prompts into the caches."""
    caches = _pairs("cache", model, given)
    step = given["step"][0] if "step" in given else _FIRST
    return _by_name("new_cache", model.read_prefix(given["token_ids"], step, caches)[1])


def _score_text(model: DecoderOnly, given: Tensors) -> Tensors:
    """Scores given texts."""
    logits = model({"token_ids": given["token_ids"]}, training=False)
    chosen = tf.gather(logits, given["labels"], axis=2, batch_dims=2)
    largest = tf.reduce_max(logits, axis=2)
    total = tf.reduce_sum(tf.exp(logits - largest[:, :, None]), axis=2)
    return {"log_probabilities": chosen - largest - tf.math.log(total)}


def _cross(model: Transformer, given: Tensors) -> Tensors:
    """Projects the encoder's states for every decoder block."""
    return _by_name("cross", model.decoder_stack.project(given[ENCODED]))


def _decode_step(model: Transformer | DecoderOnly, given: Tensors) -> Tensors:
    """Runs a decoder step to its logits and the caches; `specs.decoder_specs` has the shapes.

    It returns the caches that it was given, with this step's keys and values in each row's own
    place: the rows that beam_size and cache_beams name are gathered for the attention only. With
    one row a sentence these inputs are not given.
    """
    rows, step = None, given["step"]
    if "cache_beams" in given:
        rows = _row_of_each_token(given["beam_size"], given["cache_beams"])
    caches = _caches(model, given)
    seen = caches
    if recurs(model.config):
        seen = [(_state_before(buffer, step, rows),) for [buffer] in caches]
    elif rows is not None:
        seen = [tuple(_gather_tokens(buffer, rows) for buffer in pair) for pair in caches]
    if isinstance(model, DecoderOnly):
        logits, written = model.decode_step(given["token_ids"], step, seen)
    else:
        inputs = (given["target_ids"], step, seen, _source(model, given))
        logits, written = model.decode_step(*inputs, _listed_head(model, given))
    if recurs(model.config):
        return {LOGITS: logits, **_with_states(written, caches, step)}
    here = tf.equal(tf.range(tf.shape(caches[0][0])[2]), step)[None, None, :, None]
    new_caches = [
        tuple(tf.where(here, new, old) for new, old in zip(new_pair, pair, strict=True))
        for new_pair, pair in zip(written, caches, strict=True)
    ]
    return {LOGITS: logits, **_by_name("new_cache", new_caches)}


def _score(model: Transformer, given: Tensors) -> Tensors:
    """Scores given translations; see `Transformer.align`."""
    ids, labels, head = given["target_ids"], given["labels"], _listed_head(model, given)
    log_probabilities, attention = model.align(ids, labels, _source(model, given), head)
    return {"log_probabilities": log_probabilities, "attention": attention}


def _read_prefix(model: Transformer, given: Tensors) -> Tensors:
    """Scores the prefixes of translations and writes their keys and values into the caches."""
    ids, caches = given["target_ids"], _caches(model, given)
    # Keys and values are written into what is there, a recurrence begins anew.
    before = model.empty_caches(tf.shape(ids)[0], 0) if recurs(model.config) else caches
    inputs = (ids, _FIRST, before, _source(model, given), given["labels"])
    scores, written = model.read_prefix(*inputs, _listed_head(model, given))
    if recurs(model.config):
        new_caches = _with_states(written, caches, tf.shape(ids)[1] - 1)
    else:
        new_caches = _by_name("new_cache", written)
    return {"log_probabilities": scores, **new_caches}


def _source(model: Transformer, given: Tensors) -> Source:
    """Returns what the decoder attends to."""
    return Source(tf.cast(given["source_mask"], tf.bool), _pairs("cross", model, given))


def _listed_head(model: Transformer, given: Tensors) -> Callable[[Any], Any] | None:
    """Returns the head of a shortlist, as `listed.logits_of_each`; None without one."""
    if listed.WEIGHTS not in given:
        return None

    def head(states: tf.Tensor) -> tf.Tensor:
        weights, places = given[listed.WEIGHTS], given[listed.PLACES]
        rows, tokens = tf.shape(states)[0], tf.shape(states)[1]
        if model.config.logit_bias:
            more = weights.shape[1] - model.config.model_dim
            states = tf.concat([states, tf.ones((rows, tokens, more), states.dtype)], axis=2)
        logits = tf.matmul(tf.reshape(states, (-1, weights.shape[1])), weights, transpose_b=True)
        logits = soft_capped(logits, model.config.final_logit_soft_cap)
        each = rows * tokens // tf.shape(places)[0]
        own = tf.repeat(places, each, axis=0)
        found = tf.gather(logits, tf.maximum(own, 0), batch_dims=1)
        found = tf.where(own < 0, np.float32(-np.inf), found)
        return tf.reshape(found, (rows, tokens, tf.shape(places)[1]))

    return head


def _pairs(prefix: str, model: Any, given: Tensors) -> list[KeysValues]:
    """Returns the keys and values of every block among a graph's inputs."""
    names = (named(prefix, number) for number in range(decoder_sizes(model.config)[0]))
    return [(given[key], given[value]) for key, value in names]


def _caches(model: Any, given: Tensors) -> list[Cache]:
    """Returns every block's cache of earlier tokens from a graph's inputs."""
    if not recurs(model.config):
        return _pairs("cache", model, given)
    blocks = range(decoder_sizes(model.config)[0])
    return [(given[state_name("cache", number)],) for number in blocks]


def _state_before(buffer: tf.Tensor, step: tf.Tensor, rows: tf.Tensor | None) -> tf.Tensor:
    """Returns the state that each row continues: `(rows, width)`.

    Args:
        buffer: The two states of each row, `(rows, 1, 2, width)`.
        step: int32 `(1,)`.
        rows: The result of `_row_of_each_token`; None if each row continues its own.
    """
    states = tf.gather(buffer[:, 0], 1 - step % STATES, axis=1)[:, 0]
    if rows is None:
        return states
    return tf.gather(states, tf.gather(rows, tf.maximum(step - 1, 0), axis=1)[:, 0])


def _with_states(written: list[Cache], caches: list[Cache], place: tf.Tensor) -> Tensors:
    """Returns caches with the states of a place, by their names among a graph's outputs."""
    here = tf.equal(tf.range(STATES), place % STATES)[:, None]
    return {
        state_name("new_cache", number): tf.where(here, state[:, None, None], cache)
        for number, ([state], [cache]) in enumerate(zip(written, caches, strict=True))
    }


def _by_name(prefix: str, pairs: Sequence[KeysValues]) -> Tensors:
    """Returns the keys and values of every block by their names among a graph's outputs."""
    return {
        name: tensor
        for number, pair in enumerate(pairs)
        for name, tensor in zip(named(prefix, number), pair, strict=True)
    }


def _row_of_each_token(beam_size: tf.Tensor, cache_beams: tf.Tensor) -> tf.Tensor:
    """Returns the cache row of each row's earlier tokens: int32 `(rows, cache_length)`."""
    shape = tf.shape(cache_beams)
    first_rows = tf.range(shape[0])[:, None, None] * beam_size
    return tf.reshape(cache_beams + first_rows, (-1, shape[2]))


def _gather_tokens(buffer: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """Takes token t of row r from row `rows[r, t]` of a cache `(rows, heads, length, width)`."""
    heads, width = buffer.shape[1], buffer.shape[3]
    length = tf.shape(rows)[1]
    tokens = tf.reshape(tf.transpose(buffer, (0, 2, 1, 3)), (-1, heads * width))
    places = rows * length + tf.range(length)
    gathered = tf.reshape(tf.gather(tokens, places), (-1, length, heads, width))
    return tf.transpose(gathered, (0, 2, 1, 3))
