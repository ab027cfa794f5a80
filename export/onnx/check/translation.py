"""Compares the graphs of an encoder-decoder with Keras: a whole translation, and its scores."""

from typing import Any

import keras
import numpy as np

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.family import STEP_GRAPHS
from keras_transformer.export.onnx.check.listed import CheckedShortlist
from keras_transformer.export.onnx.check.running import Comparison, checked_graphs
from keras_transformer.export.onnx.check.steps import (
    by_name,
    check_decoders,
    check_prefill,
    random_steps,
    traced,
)
from keras_transformer.models.transformer import Transformer

_SOURCE_LENGTHS = (7, 1, 4)


def check_translation(
    model: Transformer, manifest: Manifest, files: ArtefactFiles, compare: Comparison
) -> None:
    """Compares the graphs of an encoder-decoder; arguments as for `check_numbers`.

    Random sources of unequal length run through the encoder, several hypotheses of each through
    some decoder steps in which they change places, and their translations through the scorer.
    """
    random, config = np.random.default_rng(0), model.config
    source_ids = _random_sources(config, random)
    special_ids = config.special_ids
    source = keras.tree.map_structure(np.asarray, model.read_source(source_ids))
    keep, cross = source
    given = {"source_mask": keep.astype(np.int32), **by_name("cross", cross)}
    states = np.asarray(model.encoder({"source_ids": source_ids}))
    encoded = {**by_name("cross", cross), "encoder_states": states}
    for encoder in checked_graphs(manifest, files, "encoder"):
        found = encoder.run({"source_ids": source_ids})
        both = found, encoded
        compare(*({name: _at_tokens(one[name], keep) for name in encoded} for one in both))
    del encoder  # Each graph that is open holds its weights.
    sizes = (config.target_vocab_size, config.max_positions)
    ids, parents = random_steps(len(source_ids), special_ids, *sizes, random)
    target_ids, labels = ids[:, :, 0].T, np.roll(ids, -1, axis=0)[:, :, 0].T
    listed = CheckedShortlist.of(model, manifest, files, source_ids, labels)
    given.update(listed.inputs)
    step = traced(
        lambda rows, place, caches: model.decode_step(rows, place, caches, source, listed.head)
    )
    for name in STEP_GRAPHS:
        beams = ids.shape[2] if name == "decoder" else 1
        check_decoders(
            checked_graphs(manifest, files, name),
            step,
            # One place more than needed, which the graph must leave unchanged.
            model.empty_caches(len(source_ids) * beams, len(ids) + 1),
            given,
            ids[:, :, :beams],
            parents[:, :, :beams] % beams,
            compare,
            listed.spread,
        )
    target_ids = np.ascontiguousarray(target_ids)
    aligned = model.align(target_ids, labels, source, listed.head)
    labels = listed.labels(labels)
    names = ("log_probabilities", "attention")
    expected = dict(zip(names, map(np.asarray, aligned), strict=True))
    for scorer in checked_graphs(manifest, files, "scorer"):
        compare(scorer.run({"target_ids": target_ids, "labels": labels, **given}), expected)
    del scorer
    # Two of the tokens are scored.
    scored = {**given, "labels": labels[:, :2]}
    scores = {"log_probabilities": expected["log_probabilities"][:, :2]}
    caches = model.empty_caches(len(source_ids), len(ids) + 1)
    for prefill in checked_graphs(manifest, files, "prefill"):
        check_prefill(prefill, step, caches, target_ids, compare, scored, scores)


def _at_tokens(values: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Returns values `(batch, …, length, width)` with zeros at padding, which graphs may skip."""
    batch, length = keep.shape
    return values * keep.reshape(batch, *[1] * (values.ndim - 3), length, 1)


def _random_sources(config: Any, random: np.random.Generator) -> np.ndarray:
    """Returns sources of unequal length with eos, padded: int32 `(batch, source_length)`."""
    longest = min(max(_SOURCE_LENGTHS), (config.max_positions or max(_SOURCE_LENGTHS)) - 1)
    special_ids = config.special_ids
    source_ids = np.full((len(_SOURCE_LENGTHS), longest + 1), special_ids.pad, np.int32)
    unknown = [] if special_ids.unk is None else [special_ids.unk]
    known = np.array([*unknown, *special_ids.text_ids(config.source_vocab_size)], np.int32)
    for row, length in zip(source_ids, _SOURCE_LENGTHS, strict=True):
        length = min(length, longest)
        row[:length] = random.choice(known, length)
        row[length] = special_ids.eos
    return source_ids
