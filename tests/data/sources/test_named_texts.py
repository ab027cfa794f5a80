"""TFDS data sets of single texts through the real tfds.load, stored on disk."""

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from keras_transformer.data.sources.named_texts import (
    load_tfds_labelled,
    load_tfds_pairs,
    load_tfds_texts,
)

TEXTS = ["un chat", "a dog", "a pie"]


def store(directory: Path, features: dict[str, Any], splits: dict[str, dict[str, Any]]) -> None:
    tfds.dataset_builders.store_as_tfds_dataset(
        name="notes",
        version="1.0.0",
        features=tfds.features.FeaturesDict(features),
        data_dir=directory,
        split_datasets={
            split: tf.data.Dataset.from_tensor_slices(columns) for split, columns in splits.items()
        },
        disable_shuffling=True,
    )


def test_texts_of_a_set_and_nothing_else(tmp_path: Path) -> None:
    features = {"id": tf.int64, "text": tfds.features.Text(), "title": tfds.features.Text()}
    train = {"id": [1, 2, 3], "text": TEXTS, "title": ["x", "y", "z"]}
    valid = {"id": [4], "text": ["b"], "title": ["x"]}
    store(tmp_path, features, {"train": train, "validation": valid})
    corpus = load_tfds_texts("notes", tmp_path)
    assert corpus.train.lines == tuple(TEXTS)
    assert corpus.valid is not None and corpus.valid.lines == ("b",)
    assert corpus.valid.origin == "tfds notes, validation"


def test_labels_have_the_names_of_the_classes(tmp_path: Path) -> None:
    label = tfds.features.ClassLabel(names=["pet", "food"])
    features = {"review": tfds.features.Text(), "label": label}
    store(tmp_path, features, {"train": {"review": TEXTS, "label": [0, 0, 1]}})
    corpus = load_tfds_labelled("notes", tmp_path)
    assert list(corpus.train.labels) == ["pet", "pet", "food"]
    assert list(corpus.train.first) == TEXTS
    assert corpus.train.second is None and corpus.valid is None
    assert load_tfds_texts("notes", tmp_path).train.lines == tuple(TEXTS)
    with pytest.raises(ValueError, match="notes must have two texts, it has review"):
        load_tfds_pairs("notes", tmp_path)


def test_pairs_of_texts_with_and_without_labels(tmp_path: Path) -> None:
    label = tfds.features.ClassLabel(names=["no", "yes"])
    text = tfds.features.Text
    features = {"sentence1": text(), "sentence2": text(), "label": label}
    columns = {"sentence1": TEXTS, "sentence2": TEXTS[::-1], "label": [0, 1, 0]}
    store(tmp_path, features, {"train": columns})
    labelled = load_tfds_labelled("notes", tmp_path).train
    assert (list(labelled.first), list(labelled.second or ())) == (TEXTS, TEXTS[::-1])
    pairs = load_tfds_pairs("notes", tmp_path).train
    assert (list(pairs.source), list(pairs.target)) == (TEXTS, TEXTS[::-1])
    with pytest.raises(ValueError, match="several texts, sentence1, sentence2: none is `text`"):
        load_tfds_texts("notes", tmp_path)


def test_sets_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    store(tmp_path / "a", {"number": tf.int64}, {"train": {"number": [1, 2]}})
    with pytest.raises(ValueError, match="notes has no feature of text, only number"):
        load_tfds_texts("notes", tmp_path / "a")
    store(tmp_path / "b", {"text": tfds.features.Text()}, {"test": {"text": TEXTS}})
    with pytest.raises(ValueError, match="notes has no train split, only test"):
        load_tfds_texts("notes", tmp_path / "b")
    with pytest.raises(ValueError, match="must have a feature `label` of classes .* it has text"):
        load_tfds_labelled("notes", tmp_path / "b")
    with pytest.raises(FileNotFoundError, match="imdb_reviews is not in .*download=True"):
        load_tfds_texts("imdb_reviews", tmp_path)
