"""Compares the graphs of an encoder or a decoder alone with Keras, on random ids."""

from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.artefact.families import STEP_GRAPHS
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.export.onnx.check.running import Arrays, CheckedGraph, Comparison
from keras_transformer.export.onnx.check.steps import by_name, check_decoder, random_steps
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.runtime.loop.top_k import log_softmax

# Tokens of each row, and whether padding stands before them.
_ROWS = ((7, False), (1, False), (4, False), (5, True))
_PREDICTIONS = 3
_TEXTS = 3


def check_encoder(
    model: EncoderOnly, manifest: Manifest, directory: Path, compare: Comparison
) -> None:
    """Compares states and what the head makes of them; arguments as for `check_numbers`."""
    inputs = _random_texts(model, np.random.default_rng(0))
    encoder = CheckedGraph(manifest, directory, "encoder")
    compare(encoder.run(inputs), {"states": np.asarray(model.encoder(inputs))})
    if "head" not in manifest.graphs:
        return
    output = manifest.graphs["head"].outputs[0].name
    # Beside rows of tokens, places of any kind may be asked for.
    shape = (len(_ROWS), _PREDICTIONS)
    places = np.random.default_rng(1).integers(0, inputs["token_ids"].shape[1], shape, np.int32)
    expected: Any = model(inputs)
    if model.config.head is None:
        expected = expected["pooled"]
    expected = np.asarray(expected)
    if model.config.head == "masked_lm":
        expected = np.take_along_axis(expected, places[:, :, None], axis=1)
    head = CheckedGraph(manifest, directory, "head")
    compare(head.run({**inputs, "places": places}), {output: expected})


def check_generation(
    model: DecoderOnly, manifest: Manifest, directory: Path, compare: Comparison
) -> None:
    """Compares decode steps, scores and prompts' caches; arguments as for `check_numbers`."""
    random, config = np.random.default_rng(0), model.config
    sizes = (config.vocab_size, config.max_positions)
    ids, parents = random_steps(_TEXTS, config.special_ids, *sizes, random)
    for name in STEP_GRAPHS:
        beams = ids.shape[2] if name == "decoder" else 1
        check_decoder(
            CheckedGraph(manifest, directory, name),
            model.decode_step,
            # One place more than needed, which the graph must leave unchanged.
            model.empty_caches(_TEXTS * beams, len(ids) + 1),
            {},
            ids[:, :, :beams],
            parents[:, :, :beams] % beams,
            compare,
        )
    texts = np.ascontiguousarray(ids[:, :, 0].T)
    _check_scorer(model, CheckedGraph(manifest, directory, "scorer"), texts, compare)
    _check_prefill(model, CheckedGraph(manifest, directory, "prefill"), texts, compare)


def _check_scorer(
    model: DecoderOnly, scorer: CheckedGraph, texts: np.ndarray, compare: Comparison
) -> None:
    """Scores texts `(batch, length)` of which the last is shorter."""
    texts, pad = texts.copy(), model.config.special_ids.pad
    texts[-1, 1:] = pad
    labels = np.roll(texts, -1, axis=1)
    keep = np.ones(texts.shape)
    keep[-1, 1:] = 0
    logits = np.asarray(model({"token_ids": texts}))
    flat = log_softmax(logits.reshape(-1, logits.shape[2]))
    chosen = np.take_along_axis(flat, labels.reshape(-1, 1), axis=1).reshape(labels.shape)
    found = scorer.run({"token_ids": texts, "labels": labels})
    # What follows a text means nothing.
    compare(
        {name: values * keep for name, values in found.items()},
        {"log_probabilities": chosen * keep},
    )


def _check_prefill(
    model: DecoderOnly, prefill: CheckedGraph, texts: np.ndarray, compare: Comparison
) -> None:
    """Compares the caches with those of single steps; the places behind must stay as they were."""
    batch, length = texts.shape
    random = np.random.default_rng(1)
    caches: Any = [
        tuple(random.standard_normal(part.shape).astype(np.float32) for part in pair)
        for pair in model.empty_caches(batch, length + 2)
    ]
    buffers = prefill.typed({name: part.copy() for name, part in by_name("cache", caches).items()})
    prefill.run_in_place({"token_ids": texts}, buffers)
    for step in range(length):
        _, caches = model.decode_step(texts[:, step], np.int32(step), caches)
    expected = by_name("cache", [tuple(map(np.asarray, pair)) for pair in caches])
    compare(buffers, expected)


def _random_texts(model: EncoderOnly, random: np.random.Generator) -> Arrays:
    """Returns rows of unequal length, padded on either side, by the names of the inputs."""
    config, special_ids = model.config, model.config.special_ids
    longest = max(length for length, _ in _ROWS)
    width = min(longest + 1, config.max_positions or longest + 1)
    token_ids = np.full((len(_ROWS), width), special_ids.pad, np.int32)
    known = np.array([special_ids.unk, *special_ids.text_ids(config.vocab_size)], np.int32)
    for row, (length, is_late) in zip(token_ids, _ROWS, strict=True):
        tokens = random.choice(known, min(length, width))
        row[slice(-len(tokens), None) if is_late else slice(len(tokens))] = tokens
    if config.num_token_types < 2:
        return {"token_ids": token_ids}
    types = random.integers(0, config.num_token_types, token_ids.shape, np.int32)
    return {"token_ids": token_ids, "token_type_ids": types}
