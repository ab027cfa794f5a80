"""Makes tiny random translators with OpenNMT-tf, in its files, and writes beside them what they
compute. Needs TensorFlow with Keras 2 (tf_keras) and OpenNMT-tf, which `make oracles` installs
apart and without what a translator does not need: TensorFlow Addons have no release for them.

A source has no eos there, and an empty one has no translation.
"""

import argparse
import functools
import json
import os
import shutil
import sys
import types
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import sentencepiece

from tools.oracles.sizes import (
    BEAMS,
    HEADS,
    HIDDEN,
    HOSTILE,
    LAYERS,
    NEW_TOKENS,
    PIECES,
    SCORED,
    TRAINING,
    WIDTH,
)
from tools.oracles.texts import hostile, pairs

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf  # noqa: E402

DESCRIPTION = """import opennmt


def model():
    return opennmt.models.Transformer(
        opennmt.inputters.WordEmbedder(embedding_size={width}),
        opennmt.inputters.WordEmbedder(embedding_size={width}),
        num_layers={layers},
        num_units={width},
        num_heads={heads},
        ffn_inner_dim={hidden},
        share_embeddings=opennmt.models.EmbeddingsSharingLevel.{sharing},
        pre_norm={pre_norm},
    )
"""
# A folder's name: what its description says.
NAMES: dict[str, dict[str, Any]] = {
    "opennmt": {"pre_norm": True, "sharing": "NONE"},
    "opennmt_post_norm": {"pre_norm": False, "sharing": "ALL"},
}


def without_addons() -> Any:
    """Imports OpenNMT-tf, with one function of TensorFlow Addons and nothing of the rest."""

    def tile_batch(tree: Any, multiplier: int) -> Any:
        return tf.nest.map_structure(lambda one: tf.repeat(one, multiplier, axis=0), tree)

    addons = types.ModuleType("tensorflow_addons")
    addons.seq2seq = MagicMock(tile_batch=tile_batch)  # type: ignore[attr-defined]
    sys.modules["tensorflow_addons"] = addons
    names = ["tensorflow_addons.optimizers.weight_decay_optimizers"]
    names += ["tensorflow_addons.optimizers", "tensorflow_addons.seq2seq"]
    names += ["pyonmttok", "rouge"]
    sys.modules.update({name: MagicMock() for name in names})
    import opennmt

    return opennmt


def make(opennmt: Any, path: Path, sentences: int, **fields: Any) -> None:
    """Makes a model, its vocabulary and its references."""
    sides = pairs(TRAINING)
    with (path / "sentencepiece.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([*sides[0], *sides[1]]),
            model_writer=file,
            vocab_size=PIECES,
            hard_vocab_limit=False,
            normalization_rule_name="identity",
            minloglevel=2,
        )
    pieces = sentencepiece.SentencePieceProcessor(str(path / "sentencepiece.model"))
    known = [pieces.id_to_piece(place) for place in range(3, pieces.get_piece_size())]
    tokens = ["<blank>", "<s>", "</s>", *sorted(known)]
    (path / "vocabulary.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    (path / "data.yml").write_text(
        "data:\n  source_vocabulary: vocabulary.txt\n  target_vocabulary: vocabulary.txt\n"
    )
    sizes = {"width": WIDTH, "layers": LAYERS, "heads": HEADS, "hidden": HIDDEN}
    (path / "model_description.py").write_text(DESCRIPTION.format(**sizes, **fields))

    model = opennmt.load_model(str(path))
    vocabulary = str(path / "vocabulary.txt")
    model.initialize({"source_vocabulary": vocabulary, "target_vocabulary": vocabulary})
    model.create_variables()
    draw = np.random.default_rng(3)
    for weight in model.trainable_variables:
        centre = float("gamma" in weight.name)
        weight.assign(centre + 0.25 * draw.standard_normal(weight.shape))
    # What ours never writes: padding and start.
    model.decoder.output_layer.bias[:2].assign([-50.0, -50.0])
    checkpoint = tf.train.Checkpoint(model=model)
    tf.train.CheckpointManager(checkpoint, str(path), max_to_keep=1).save(checkpoint_number=7)

    ids = {token: place for place, token in enumerate(tokens)}

    def encode(texts: list[str]) -> list[list[int]]:
        rows = pieces.encode(texts, out_type=str)
        return [[ids.get(piece, len(tokens)) for piece in row] for row in rows]

    sources, targets = pairs(sentences, start=TRAINING)
    source_ids, target_ids = encode(sources), [[*row, 2] for row in encode(targets)]
    # Traced once for rows of any length: op by op a thousand sentences take an hour.
    row = tf.TensorSpec((1, None), tf.int32)
    score = tf.function(functools.partial(log_probabilities, model), input_signature=(row, row))
    found = [
        float(score([source], [target]))
        for source, target in zip(source_ids, target_ids, strict=True)
    ]
    searched = {}
    for beams in BEAMS:
        find = functools.partial(search, opennmt, model, beams)
        find = tf.function(find, input_signature=(row,))
        searched[f"beam_{beams}"] = [find([source]).numpy().tolist() for source in source_ids]
    reference = {
        "sources": sources,
        "targets": targets,
        "hostile": hostile(HOSTILE),
        "hostile_ids": encode(hostile(HOSTILE)),
        "source_ids": source_ids,
        "target_ids": target_ids,
        "log_probabilities": found,
        "max_length": NEW_TOKENS,
        **searched,
    }
    (path / "reference.json").write_text(json.dumps(reference), encoding="utf-8")


def encoded(model: Any, source: Any) -> Any:
    """Returns the encoder's states of a source, int32 `(1, length)`, and its length."""
    features = {"ids": source, "length": tf.shape(source)[1:]}
    states, _, lengths = model.encoder(
        model.features_inputter(features), sequence_length=features["length"]
    )
    return states, lengths


def log_probabilities(model: Any, source: Any, target: Any) -> Any:
    """Returns the sum of those of a translation's tokens, its eos included."""
    memory, lengths = encoded(model, source)
    state = model.decoder.initial_state(memory=memory, memory_sequence_length=lengths)
    read = tf.concat([[[1]], target[:, :-1]], axis=1)
    given = {"ids": read, "length": tf.shape(target)[1:]}
    logits, _, _ = model.decoder(model.labels_inputter(given), given["length"], state=state)
    log_probs = tf.nn.log_softmax(logits[0])
    return tf.reduce_sum(tf.gather(log_probs, target[0], batch_dims=1))


def search(opennmt: Any, model: Any, beams: int, source: Any) -> Any:
    """Returns the ids of the best translation of a source, int32 `(1, length)`."""
    memory, lengths = encoded(model, source)
    strategy: Any = opennmt.utils.decoding.GreedySearch()
    if beams > 1:
        strategy = opennmt.utils.decoding.BeamSearch(beams)
        memory, lengths = (tf.repeat(one, beams, axis=0) for one in (memory, lengths))
    state = model.decoder.initial_state(memory=memory, memory_sequence_length=lengths)
    ids, length, *_ = model.decoder.dynamic_decode(
        model.labels_inputter,
        tf.constant([1]),
        initial_state=state,
        decoding_strategy=strategy,
        maximum_iterations=NEW_TOKENS,
    )
    return ids[0, 0, : length[0, 0]]


def main() -> None:
    """Writes every folder into the one that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", help="only these models")
    parser.add_argument("--sentences", type=int, default=SCORED, help="how many to translate")
    given, opennmt = parser.parse_args(), without_addons()
    for name in given.names or NAMES:
        path = given.folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        make(opennmt, path, given.sentences, **NAMES[name])
        size = sum(os.path.getsize(file) for file in path.iterdir())
        print(f"{path}: {size // 1024} kB")


if __name__ == "__main__":
    main()
