"""Compares the graphs of an encoder or a decoder alone with Keras, on random ids."""

from typing import Any

import numpy as np

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.graph_names import CHAIN
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.family import STEP_GRAPHS
from keras_transformer.export.onnx.check.running import (
    Arrays,
    CheckedGraph,
    Comparison,
    checked_graphs,
)
from keras_transformer.export.onnx.check.steps import (
    check_decoders,
    check_prefill,
    random_steps,
    traced,
)
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.runtime.loop.top_k import log_softmax

# Tokens of each row, and whether padding stands before them.
_ROWS = ((7, False), (1, False), (4, False), (5, True))
_PREDICTIONS = 3
_TEXTS = 3


def check_encoder(
    model: EncoderOnly, manifest: Manifest, files: ArtefactFiles, compare: Comparison
) -> None:
    """Compares states and the head's outputs; arguments as for `check_numbers`."""
    inputs = _random_texts(model, np.random.default_rng(0))
    keep = inputs["token_ids"] != model.config.special_ids.pad

    def compare_tokens(graph: str, expected: Arrays, **more: np.ndarray) -> None:
        # States and logits of padding mean nothing.
        for one in checked_graphs(manifest, files, graph):
            kept = [
                {
                    name: v[keep] if v.ndim == 3 and v.shape[:2] == keep.shape else v
                    for name, v in values.items()
                }
                for values in (one.run({**inputs, **more}), expected)
            ]
            compare(*kept)

    compare_tokens("encoder", {"states": np.asarray(model.encoder(inputs))})
    random = np.random.default_rng(1)
    places = np.stack([random.choice(np.flatnonzero(row), _PREDICTIONS) for row in keep])
    places = places.astype(np.int32)
    for name, alone in model.single_heads().items():
        if name not in manifest.graphs:
            continue
        expected: Any = alone(inputs)
        if alone.config.head is None:
            expected = expected["pooled"]
        expected, more = np.asarray(expected), {}
        if alone.config.head == "masked_lm":
            expected = np.take_along_axis(expected, places[:, :, None], axis=1)
            more = {"places": places}
        compare_tokens(name, {manifest.graphs[name].outputs[0].name: expected}, **more)
    if CHAIN in manifest.graphs:
        _check_chain(model, manifest, files, compare)


def _check_chain(
    model: EncoderOnly, manifest: Manifest, files: ArtefactFiles, compare: Comparison
) -> None:
    """Compares tags and probabilities of random logits; arguments as for `check_numbers`."""
    chain, random = model.head.chain, np.random.default_rng(2)
    num_words = np.array([length for length, _ in _ROWS], np.int32)
    shape = (len(_ROWS), int(num_words.max()), chain.num_tags)
    logits = 3 * random.standard_normal(shape, np.float32)
    is_word = np.arange(shape[1]) < num_words[:, None]
    expected = {"tags": chain(logits, is_word), "probabilities": chain.marginals(logits, is_word)}
    [graph] = checked_graphs(manifest, files, CHAIN)
    found = graph.run({"logits": logits, "num_words": num_words})
    compare(
        *(
            {name: np.asarray(one)[is_word] for name, one in both.items()}
            for both in (found, expected)
        )
    )


def check_generation(
    model: DecoderOnly, manifest: Manifest, files: ArtefactFiles, compare: Comparison
) -> None:
    """Compares decode steps, scores and prompts' caches; arguments as for `check_numbers`."""
    random, config = np.random.default_rng(0), model.config
    sizes = (config.vocab_size, config.max_positions)
    ids, parents = random_steps(_TEXTS, config.special_ids, *sizes, random)
    step = traced(model.decode_step)
    for name in STEP_GRAPHS:
        beams = ids.shape[2] if name == "decoder" else 1
        check_decoders(
            checked_graphs(manifest, files, name),
            step,
            # One place more than needed, which the graph must leave unchanged.
            model.empty_caches(_TEXTS * beams, len(ids) + 1),
            {},
            ids[:, :, :beams],
            parents[:, :, :beams] % beams,
            compare,
        )
    texts = np.ascontiguousarray(ids[:, :, 0].T)
    for scorer in checked_graphs(manifest, files, "scorer"):
        _check_scorer(model, scorer, texts, compare)
    del scorer  # Each graph that is open holds its weights.
    for prefill in checked_graphs(manifest, files, "prefill"):
        check_prefill(prefill, step, model.empty_caches(_TEXTS, len(ids) + 1), texts, compare)


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


def _random_texts(model: EncoderOnly, random: np.random.Generator) -> Arrays:
    """Returns rows of unequal length, padded on either side, by the names of the inputs."""
    config, special_ids = model.config, model.config.special_ids
    longest = max(length for length, _ in _ROWS)
    width = min(longest + 1, config.max_positions or longest + 1)
    token_ids = np.full((len(_ROWS), width), special_ids.pad, np.int32)
    unknown = [] if special_ids.unk is None else [special_ids.unk]
    known = np.array([*unknown, *special_ids.text_ids(config.vocab_size)], np.int32)
    for row, (length, is_late) in zip(token_ids, _ROWS, strict=True):
        tokens = random.choice(known, min(length, width))
        row[slice(-len(tokens), None) if is_late else slice(len(tokens))] = tokens
    if config.num_token_types < 2:
        return {"token_ids": token_ids}
    types = random.integers(0, config.num_token_types, token_ids.shape, np.int32)
    return {"token_ids": token_ids, "token_type_ids": types}
