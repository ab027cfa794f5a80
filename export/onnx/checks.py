"""Checks of exported graphs: operators and shapes by onnx, numbers against the Keras model; ONNX
files and the model come in, the largest difference leaves.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx

from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.transformer import Transformer
from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID, UNK_ID

from ..manifest import Manifest
from ..runtime.sessions import open_sessions

MAX_DIFFERENCE = 1e-4
_STEPS = 4
_BEAMS = 3
_SOURCE_LENGTHS = (7, 1, 4)

Arrays = dict[str, np.ndarray]


def check_operators(path: Path) -> None:
    """Checks a graph with onnx, and that it uses nothing but standard operators.

    Raises:
        ValueError: An operator is unknown or belongs to another domain; the message names it.
        onnx.checker.ValidationError: The graph breaks the ONNX specification.
    """
    model = onnx.load(str(path))
    # tf2onnx leaves a TensorFlow operator that it cannot convert as it is.
    unknown = {node.op_type for node in model.graph.node if not node.domain}
    unknown = {name for name in unknown if not onnx.defs.has(name)}
    if unknown:
        raise ValueError(
            f"{path.name} needs {', '.join(sorted(unknown))}, which ONNX does not have: train with "
            "another activation, such as relu or gelu."
        )
    onnx.checker.check_model(str(path), full_check=True)
    foreign = {f"{node.domain}.{node.op_type}" for node in model.graph.node if node.domain}
    if foreign or model.functions:
        raise ValueError(f"{path.name} must hold standard operators only, got {sorted(foreign)}.")


def check_numbers(model: Transformer, manifest: Manifest, directory: Path) -> float:
    """Compares both graphs with the model they were made of.

    Random sources of unequal length run through the encoder, then several hypotheses each through
    some decoder steps, whose caches are handed on.

    Args:
        model: The float32 model.
        manifest: The artefact's contract.
        directory: Where the graphs are.

    Returns:
        The largest absolute difference over all outputs.

    Raises:
        ValueError: It is above 1e-4, or not finite; the message names the output.
    """
    random = np.random.default_rng(0)
    encoder, decoder = open_sessions(manifest, directory, threads=1)
    source_ids = _random_sources(model.config, random)
    cross = [(np.asarray(key), np.asarray(value)) for key, value in model.encode(source_ids)]
    expected = _by_name("cross", cross)
    largest = _compare(_run(encoder, {"source_ids": source_ids}), expected)
    steps = min(_STEPS, model.config.max_positions or _STEPS)
    rows = len(source_ids) * _BEAMS
    # One place more than needed: the graph must leave it alone.
    caches: list[Any] = [
        tuple(map(np.asarray, pair)) for pair in model.empty_caches(rows, steps + 1)
    ]
    ids = np.full(rows, BOS_ID, np.int32)
    for step in range(steps):
        given = {
            "target_ids": ids,
            "step": np.asarray(step, np.int32),
            "source_ids": source_ids,
            **expected,
            **_by_name("cache", caches),
        }
        keep_mask = padding_mask(source_ids)
        logits, new_caches = model.decode_step(ids, np.int32(step), keep_mask, cross, caches)
        caches = [tuple(map(np.asarray, pair)) for pair in new_caches]
        wanted = {"logits": np.asarray(logits), **_by_name("new_cache", caches)}
        largest = max(largest, _compare(_run(decoder, given), wanted))
        ids = random.integers(EOS_ID + 1, model.config.target_vocab_size, rows, np.int32)
    return largest


def _random_sources(config: Any, random: np.random.Generator) -> np.ndarray:
    """Sources of unequal length, ended by eos and padded: int32 `(batch, source_length)`."""
    longest = min(max(_SOURCE_LENGTHS), (config.max_positions or max(_SOURCE_LENGTHS)) - 1)
    source_ids = np.full((len(_SOURCE_LENGTHS), longest + 1), PAD_ID, np.int32)
    for row, length in zip(source_ids, _SOURCE_LENGTHS, strict=True):
        length = min(length, longest)
        row[:length] = random.integers(UNK_ID, config.source_vocab_size, length, np.int32)
        row[length] = EOS_ID
    return source_ids


def _by_name(prefix: str, pairs: list[Any]) -> Arrays:
    named = {}
    for layer, (key, value) in enumerate(pairs):
        named[f"{prefix}_key_{layer}"], named[f"{prefix}_value_{layer}"] = key, value
    return named


def _run(session: Any, inputs: Arrays) -> Arrays:
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def _compare(found: Arrays, expected: Arrays) -> float:
    largest = 0.0
    for name, wanted in expected.items():
        if found[name].shape != wanted.shape:
            raise ValueError(
                f"output {name} has the shape {found[name].shape} in ONNX and {wanted.shape} in "
                "Keras: nothing was exported."
            )
        difference = float(np.max(np.abs(found[name] - wanted), initial=0.0))
        # Written so that NaN is refused too.
        if not difference <= MAX_DIFFERENCE:
            raise ValueError(
                f"output {name} differs from Keras by up to {difference:.2e}, more than "
                f"{MAX_DIFFERENCE:.0e}: nothing was exported."
            )
        largest = max(largest, difference)
    return largest
