"""Checks exported graphs: takes ONNX files and the Keras model, has onnx check operators and
shapes, compares the numbers, and returns the largest difference.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

from keras_transformer.artefact.manifest import GRAPHS, Manifest
from keras_transformer.export.onnx.graphs.operators import MICROSOFT, NATIVE
from keras_transformer.models.transformer import Transformer
from keras_transformer.runtime.loop.top_k import log_softmax
from keras_transformer.runtime.onnx_graphs.sessions import open_session

_STEPS = 4
_BEAMS = 3
# Outputs of a decoder graph, beside the caches.
_COMPARED = ("logits", "candidate_values", "next_ids", "next_log_probabilities")
_CANDIDATES = 5
_SOURCE_LENGTHS = (7, 1, 4)
_ROWS = (len(_SOURCE_LENGTHS), _BEAMS)

Arrays = dict[str, np.ndarray]


def check_operators(path: Path, *, portable: bool, native: bool = False) -> None:
    """Checks a graph with onnx, and that it has only the operators that its target allows.

    Args:
        path: The graph.
        portable: Whether only standard operators are allowed; if not, onnxruntime's are as well.
        native: Whether this package's own are allowed as well.

    Raises:
        ValueError: An operator is unknown or belongs to another domain; the message names it.
        onnx.checker.ValidationError: The graph breaks the ONNX specification.
    """
    model = onnx.load(str(path), load_external_data=False)
    # tf2onnx leaves a TensorFlow operator that it cannot convert unchanged.
    unknown = {node.op_type for node in model.graph.node if not node.domain}
    unknown = {name for name in unknown if not onnx.defs.has(name)}
    if unknown:
        raise ValueError(
            f"{path.name} needs {', '.join(sorted(unknown))}, which ONNX does not have: train with "
            "another activation, such as relu or gelu."
        )
    onnx.checker.check_model(str(path), full_check=portable)
    allowed = {""} if portable else {"", MICROSOFT} | ({NATIVE} if native else set())
    foreign = {node.op_type for node in model.graph.node if node.domain not in allowed}
    if foreign or model.functions:
        raise ValueError(f"{path.name} must not hold the operators {sorted(foreign)}.")


def check_numbers(
    model: Transformer, manifest: Manifest, directory: Path, tolerance: float
) -> float:
    """Compares all graphs with the model they were made from.

    Random sources of unequal length run through the encoder, several hypotheses of each through
    some decoder steps in which they change places, and their translations through the scorer.

    Args:
        model: The float32 model.
        manifest: The artefact's contract.
        directory: Where the graphs are.
        tolerance: Largest absolute difference to accept.

    Returns:
        The largest absolute difference over all outputs.

    Raises:
        ValueError: A difference is above `tolerance` or not finite; the message names the output.
    """
    random = np.random.default_rng(0)
    source_ids = _random_sources(model.config, random)
    cross = [
        (np.asarray(key), np.asarray(value)) for key, value in model.source_keys_values(source_ids)
    ]
    special_ids = model.config.special_ids
    keep = source_ids != special_ids.pad
    given = {"source_mask": keep.astype(np.int32), **_by_name("cross", cross)}
    encoder, decoder, greedy, greedy_scores, scorer = (
        _Graph(manifest, directory, name) for name in GRAPHS
    )
    compare = Comparison(tolerance)
    states = np.asarray(model.encoder({"source_ids": source_ids}))
    compare(
        encoder.run({"source_ids": source_ids}),
        {**_by_name("cross", cross), "encoder_states": states},
    )
    steps = min(_STEPS, model.config.max_positions or _STEPS)
    text_ids = np.array(special_ids.text_ids(model.config.target_vocab_size), np.int32)
    ids = random.choice(text_ids, (steps, *_ROWS))
    ids[0] = special_ids.decoder_start
    parents = random.integers(0, _BEAMS, (steps, *_ROWS), np.int32)
    _check_decoder(model, decoder, given, cross, ids, parents, compare)
    for graph in (greedy, greedy_scores):
        _check_decoder(model, graph, given, cross, ids[:, :, :1], 0 * parents[:, :, :1], compare)
    target_ids, labels = ids[:, :, 0].T, np.roll(ids, -1, axis=0)[:, :, 0].T
    expected = model.align(target_ids, labels, keep, cross)
    found = scorer.run({"target_ids": target_ids, "labels": labels, **given})
    names = ("log_probabilities", "attention")
    compare(found, dict(zip(names, map(np.asarray, expected), strict=True)))
    return compare.largest


def _check_decoder(
    model: Transformer,
    decoder: "_Graph",
    given: Arrays,
    cross: list[Any],
    ids: np.ndarray,
    parents: np.ndarray,
    compare: "Comparison",
) -> None:
    """Runs decoder steps; `ids` and `parents` are `(steps, batch, beams)`.

    Keras's caches are reordered if a hypothesis continues another; the graph's never are.
    """
    steps, batch, beams = ids.shape
    # One place more than needed, which the graph must leave unchanged.
    specs = model.empty_caches(batch * beams, steps + 1)
    caches: list[Any] = [tuple(map(np.asarray, pair)) for pair in specs]
    buffers = decoder.typed({name: v.copy() for name, v in _by_name("cache", caches).items()})
    cache_beams = np.zeros((batch, beams, steps + 1), np.int32)
    totals = -np.arange(batch * beams, dtype=np.float32).reshape(batch, beams)
    keep_mask = given["source_mask"].astype(bool)
    for step in range(steps):
        rows = ids[step].ravel()
        logits, caches = model.decode_step(rows, np.int32(step), keep_mask, cross, caches)
        inputs = {
            "target_ids": rows,
            "step": np.array([step], np.int32),
            "beam_size": np.array([beams], np.int32),
            "num_candidates": np.array([_CANDIDATES], np.int64),
            "totals": totals,
            "cache_beams": cache_beams,
            **given,
        }
        found = decoder.run_in_place(inputs, buffers)
        logits = np.asarray(logits)
        if "next_ids" in found:
            chosen = np.take_along_axis(logits, found.pop("next_ids")[:, None], axis=1)
            compare({"next_ids": chosen}, {"next_ids": logits.max(axis=1, keepdims=True)})
            if "next_log_probabilities" in found:
                compare(found, {"next_log_probabilities": log_softmax(logits).max(axis=1)})
        else:
            ranked = (log_softmax(logits) + totals.reshape(-1, 1)).reshape(batch, -1)
            compare(found, {"candidate_values": -np.sort(-ranked, axis=1)[:, :_CANDIDATES]})
        if "logits" in found:
            compare(found, {"logits": logits})
        order = parents[step]
        moved = (np.arange(batch)[:, None] * beams + order).ravel()
        caches = [tuple(np.asarray(part)[moved] for part in pair) for pair in caches]
        cache_beams[:] = np.take_along_axis(cache_beams, order[:, :, None], 1)
        cache_beams[:, :, step] = order


class _Graph:
    """One graph of the artefact, run by names; arrays that it does not take are ignored."""

    def __init__(self, manifest: Manifest, directory: Path, name: str) -> None:
        self._session = open_session(manifest, directory, name, threads=1)
        graph = manifest.graphs[name]
        self.inputs = {spec.name: np.dtype(spec.dtype) for spec in graph.inputs}
        self._outputs = [spec.name for spec in graph.outputs]

    def typed(self, arrays: Arrays) -> Arrays:
        """Returns the arrays that are inputs, converted to the inputs' types."""
        return {
            name: np.ascontiguousarray(value, self.inputs[name])
            for name, value in arrays.items()
            if name in self.inputs
        }

    def run(self, inputs: Arrays) -> Arrays:
        """Runs the graph."""
        found = self._session.run(self._outputs, self.typed(inputs))
        return dict(zip(self._outputs, found, strict=True))

    def run_in_place(self, inputs: Arrays, buffers: Arrays) -> Arrays:
        """Runs one step that writes the new caches over the old ones."""
        binding = self._session.io_binding()
        given = {**self.typed(inputs), **buffers}
        for name, value in given.items():
            binding.bind_input(name, "cpu", 0, value.dtype.type, value.shape, value.ctypes.data)
        for name, value in buffers.items():
            binding.bind_output(
                f"new_{name}", "cpu", 0, value.dtype.type, value.shape, value.ctypes.data
            )
        names = [name for name in _COMPARED if name in self._outputs]
        for name in names:
            binding.bind_output(name, "cpu")
        self._session.run_with_iobinding(binding)
        # Outputs that are bound without memory come last.
        return dict(zip(names, binding.copy_outputs_to_cpu()[-len(names) :], strict=True))


def _random_sources(config: Any, random: np.random.Generator) -> np.ndarray:
    """Returns sources of unequal length with eos, padded: int32 `(batch, source_length)`."""
    longest = min(max(_SOURCE_LENGTHS), (config.max_positions or max(_SOURCE_LENGTHS)) - 1)
    special_ids = config.special_ids
    source_ids = np.full((len(_SOURCE_LENGTHS), longest + 1), special_ids.pad, np.int32)
    known = np.array([special_ids.unk, *special_ids.text_ids(config.source_vocab_size)], np.int32)
    for row, length in zip(source_ids, _SOURCE_LENGTHS, strict=True):
        length = min(length, longest)
        row[:length] = random.choice(known, length)
        row[length] = special_ids.eos
    return source_ids


def _by_name(prefix: str, pairs: list[Any]) -> Arrays:
    named = {}
    for layer, (key, value) in enumerate(pairs):
        named[f"{prefix}_key_{layer}"], named[f"{prefix}_value_{layer}"] = key, value
    return named


class Comparison:
    """Compares outputs with expected values and remembers the largest difference."""

    def __init__(self, tolerance: float) -> None:
        self.largest = 0.0
        self._tolerance = tolerance

    def __call__(self, found: Arrays, expected: Arrays) -> None:
        """Compares each of the `expected` values with the output of its name.

        Raises:
            ValueError: A shape differs, or a number by more than the tolerance.
        """
        for name, wanted in expected.items():
            if found[name].shape != wanted.shape:
                raise ValueError(
                    f"output {name} has the shape {found[name].shape} in ONNX and {wanted.shape} "
                    "in Keras: nothing was exported."
                )
            difference = float(np.max(np.abs(found[name] - wanted), initial=0.0))
            # Written so that NaN is refused too.
            if not difference <= self._tolerance:
                raise ValueError(
                    f"output {name} differs from Keras by up to {difference:.2e}, more than "
                    f"{self._tolerance:.0e}: nothing was exported."
                )
            self.largest = max(self.largest, difference)
