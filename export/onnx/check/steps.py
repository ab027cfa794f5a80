"""Compares decode steps of a graph with those of Keras, with beams that change places."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.export.onnx.check.running import Arrays, CheckedGraph, Comparison
from keras_transformer.export.onnx.layers.attention.kinds import named
from keras_transformer.export.onnx.layers.recurrence import STATES, state_name
from keras_transformer.runtime.loop.top_k import log_softmax

_STEPS = 4
BEAMS = 3
_CANDIDATES = 5

Step = Callable[[np.ndarray, np.int32, list[Any]], tuple[Any, list[Any]]]


def random_steps(
    batch: int,
    special_ids: SpecialIds,
    vocabulary: int,
    max_positions: int | None,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Returns the ids and the parents of hypotheses, both int32 `(steps, batch, beams)`."""
    shape = (min(_STEPS, max_positions or _STEPS), batch, BEAMS)
    text_ids = np.array(special_ids.text_ids(vocabulary), np.int32)
    ids = random.choice(text_ids, shape)
    ids[0] = special_ids.decoder_start
    return ids, random.integers(0, BEAMS, shape, np.int32)


def traced(step: Callable[..., Any]) -> Step:
    """Compiles a decode step, as running it eagerly takes most of a check's time."""
    function = tf.function(step, autograph=False)
    return lambda rows, place, caches: function(tf.constant(rows), tf.constant(place), caches)


def check_decoders(
    decoders: Sequence[CheckedGraph],
    step_in_keras: Step,
    empty: Sequence[Any],
    inputs_of_all: Arrays,
    ids: np.ndarray,
    parents: np.ndarray,
    compare: Comparison,
    spread: Callable[[np.ndarray], np.ndarray] = lambda logits: logits,
) -> None:
    """Compares some decoder steps.

    When a hypothesis continues another one, Keras reorders its caches; a graph never does.

    Args:
        decoders: The graph of each target.
        step_in_keras: Takes token ids `(rows,)`, the step and the caches and returns logits and
            the new caches.
        empty: Keras's caches before the first step, one place longer than the number of steps.
        inputs_of_all: Further inputs of the graphs, the same at every step.
        ids: The tokens `(steps, batch, beams)`.
        parents: The beam that each hypothesis continues after a step, shaped as `ids`.
        compare: Compares.
        spread: Expands the logits of a graph to all ids.
    """
    steps, batch, beams = ids.shape
    caches: list[Any] = [tuple(map(np.asarray, pair)) for pair in empty]
    buffers = [
        decoder.typed({name: v.copy() for name, v in held("cache", caches).items()})
        for decoder in decoders
    ]
    cache_beams = np.zeros((batch, beams, steps + 1), np.int32)
    totals = -np.arange(batch * beams, dtype=np.float32).reshape(batch, beams)
    for step in range(steps):
        rows = ids[step].ravel()
        logits, caches = step_in_keras(rows, np.int32(step), caches)
        inputs = {
            "target_ids": rows,
            "token_ids": rows,
            "step": np.array([step], np.int32),
            "beam_size": np.array([beams], np.int32),
            "num_candidates": np.array([_CANDIDATES], np.int64),
            "totals": totals,
            "cache_beams": cache_beams,
            **inputs_of_all,
        }
        for decoder, own in zip(decoders, buffers, strict=True):
            found = decoder.run_in_place(inputs, own)
            _compare_step(found, np.asarray(logits), totals, compare, spread)
        order = parents[step]
        moved = (np.arange(batch)[:, None] * beams + order).ravel()
        caches = [tuple(np.asarray(part)[moved] for part in pair) for pair in caches]
        cache_beams[:] = np.take_along_axis(cache_beams, order[:, :, None], 1)
        cache_beams[:, :, step] = order


def _compare_step(
    found: Arrays,
    logits: np.ndarray,
    totals: np.ndarray,
    compare: Comparison,
    spread: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Compares a step's outputs with those that follow from logits `(rows, vocabulary)`."""
    if "next_ids" in found:
        chosen = np.take_along_axis(logits, found.pop("next_ids")[:, None], axis=1)
        compare({"next_ids": chosen}, {"next_ids": logits.max(axis=1, keepdims=True)})
        if "next_log_probabilities" in found:
            compare(found, {"next_log_probabilities": log_softmax(logits).max(axis=1)})
    else:
        ranked = (log_softmax(logits) + totals.reshape(-1, 1)).reshape(len(totals), -1)
        compare(found, {"candidate_values": -np.sort(-ranked, axis=1)[:, :_CANDIDATES]})
    if "logits" in found:
        compare({"logits": spread(found["logits"])}, {"logits": logits})


def check_prefill(
    prefill: CheckedGraph,
    step_in_keras: Step,
    empty: Sequence[Any],
    ids: np.ndarray,
    compare: Comparison,
    inputs_of_all: Arrays | None = None,
    expected: Arrays | None = None,
) -> None:
    """Compares a run over whole prompts with Keras's single steps; later places must not change.

    Args:
        prefill: The graph.
        step_in_keras: Takes token ids `(rows,)`, the step and the caches and returns logits and
            the new caches.
        empty: Keras's caches, with more places than there are tokens.
        ids: The tokens `(batch, length)`.
        compare: Compares.
        inputs_of_all: The graph's inputs other than tokens and caches.
        expected: The expected outputs other than the caches.
    """
    random = np.random.default_rng(1)
    before = {
        name: random.standard_normal(part.shape).astype(np.float32)
        for name, part in held("cache", empty).items()
    }
    caches: list[Any] = _in_keras(before, empty)
    buffers = prefill.typed({name: part.copy() for name, part in before.items()})
    first = np.zeros(1, np.int32)
    given = {"token_ids": ids, "target_ids": ids, "step": first, **(inputs_of_all or {})}
    found = prefill.run_in_place(given, buffers)
    for step in range(ids.shape[1]):
        _, caches = step_in_keras(ids[:, step], np.int32(step), caches)
    caches = [tuple(map(np.asarray, cache)) for cache in caches]
    written = held("cache", caches, before, place=ids.shape[1] - 1)
    compare({**buffers, **found}, {**written, **(expected or {})})
    if "step" in prefill.inputs:
        row = {name: part[:1] for name, part in before.items()}
        in_two = _in_two_runs(prefill, row, ids[:1])
        compare(in_two, {name: part[:1] for name, part in written.items()})


def _in_two_runs(prefill: CheckedGraph, before: Arrays, ids: np.ndarray) -> Arrays:
    """Returns the caches of a text of which a second run reads what follows the first token."""
    buffers = prefill.typed({name: part.copy() for name, part in before.items()})
    for start, end in ((0, 1), (1, ids.shape[1])):
        step = np.array([start], np.int32)
        prefill.run_in_place({"token_ids": ids[:, start:end], "step": step}, buffers)
    return buffers


def by_name(prefix: str, pairs: Sequence[Any]) -> Arrays:
    """Returns keys and values of every block by their names among inputs and outputs."""
    return {
        name: part
        for layer, pair in enumerate(pairs)
        for name, part in zip(named(prefix, layer), pair, strict=True)
    }


def held(
    prefix: str, caches: Sequence[Any], before: Arrays | None = None, place: int = 0
) -> Arrays:
    """Returns Keras's caches as a graph holds them, by their names.

    Args:
        prefix: Prefix of the names.
        caches: Keras's caches: keys and values, or the state of a recurrence `(rows, width)`.
        before: The graph's caches so far, of which only one state is replaced; zeros if None.
        place: Place of the token after which the state stands.
    """
    if len(caches[0]) > 1:
        return by_name(prefix, caches)
    found = {}
    for layer, [state] in enumerate(caches):
        name, (rows, width) = state_name(prefix, layer), state.shape
        empty = np.zeros((rows, 1, STATES, width), np.float32)
        found[name] = empty if before is None else before[name].copy()
        found[name][:, 0, place % STATES] = state
    return found


def _in_keras(buffers: Arrays, empty: Sequence[Any]) -> list[Any]:
    """Returns Keras's caches before a prompt: keys and values from `buffers`, an empty state."""
    if len(empty[0]) == 1:
        return list(empty)
    return [tuple(buffers[name] for name in named("cache", layer)) for layer in range(len(empty))]
