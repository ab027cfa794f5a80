"""Single, labelled or paired texts of TensorFlow Datasets (TFDS), by the name of the data set."""

import os
from collections.abc import Callable
from typing import Any, TypeVar

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts, TextCorpus, Texts
from keras_transformer.data.sources.tfds import READ_BLOCK, decoded, load_splits

PathLike = str | os.PathLike[str]
Side = TypeVar("Side")

_LABEL = "label"


def load_tfds_texts(
    name: str, data_dir: PathLike | None = None, download: bool = False
) -> TextCorpus:
    """Loads the texts of the splits `train` and `validation` into memory.

    Args:
        name: Name of the set in TFDS, such as "imdb_reviews" or "wiki40b/en". Its text is the
            feature `text` or, without one of that name, its only one of text.
        data_dir: Data directory of TFDS; its default, ~/tensorflow_datasets, if None.
        download: Whether to download the set if it is not on disk.

    Returns:
        The corpus; `valid` is None if the set has no such split.

    Raises:
        ImportError: Tensorflow-datasets is not installed.
        FileNotFoundError: The data is not on disk and `download` is False.
        OSError: The download failed.
        ValueError: TFDS has no such set, the set has no text or no `train` split, or a text is not
            UTF-8.
    """
    splits, info = load_splits(name, data_dir, download, as_supervised=False)
    fields = _text_features(name, info)
    field = "text" if "text" in fields else fields[0]
    if field != "text" and len(fields) > 1:
        raise ValueError(f"TFDS set {name} has several texts, {', '.join(fields)}: none is `text`.")

    def side(split: str) -> Texts:
        [column] = _columns(name, split, splits[split], [field])
        return Texts(column, _origin(name, split))

    return TextCorpus(*_sides(name, splits, side))


def load_tfds_labelled(
    name: str, data_dir: PathLike | None = None, download: bool = False
) -> LabelledCorpus:
    """Loads texts, or pairs of texts, with their labels.

    Args:
        name: Name of the set in TFDS, such as "imdb_reviews" or "glue/mrpc", with a feature
            `label` of named classes and one or two of text, which are sorted by name.
        data_dir: Data directory of TFDS; its default, ~/tensorflow_datasets, if None.
        download: Whether to download the set if it is not on disk.

    Raises:
        ValueError: The set has no labels; and all that `load_tfds_texts` raises.
    """
    splits, info = load_splits(name, data_dir, download, as_supervised=False)
    fields = _text_features(name, info)
    classes: Any = dict(info.features).get(_LABEL)
    if type(classes).__name__ != "ClassLabel" or len(fields) > 2:
        raise ValueError(
            f"TFDS set {name} must have a feature `label` of classes and one or two of text, it "
            f"has {', '.join(info.features)}."
        )

    def side(split: str) -> LabelledTexts:
        labels, first, *second = _columns(name, split, splits[split], [_LABEL, *fields])
        names = [classes.int2str(number) for number in labels]
        return LabelledTexts(names, first, second[0] if second else None, _origin(name, split))

    return LabelledCorpus(*_sides(name, splits, side))


def load_tfds_pairs(name: str, data_dir: PathLike | None = None, download: bool = False) -> Corpus:
    """Loads pairs of texts that mean the same, of a set with two features of text.

    Arguments and errors are those of `load_tfds_texts`.
    """
    splits, info = load_splits(name, data_dir, download, as_supervised=False)
    fields = _text_features(name, info)
    if len(fields) != 2:
        raise ValueError(f"TFDS set {name} must have two texts, it has {', '.join(fields)}.")

    def side(split: str) -> Pairs:
        first, second = _columns(name, split, splits[split], fields)
        return Pairs(first, second, _origin(name, split))

    return Corpus(*_sides(name, splits, side))


def _sides(
    name: str, splits: dict[str, Any], side: Callable[[str], Side]
) -> tuple[Side, Side | None]:
    if "train" not in splits:
        raise ValueError(f"TFDS set {name} has no train split, only {', '.join(splits)}")
    return side("train"), side("validation") if "validation" in splits else None


def _text_features(name: str, info: Any) -> list[str]:
    """Returns the sorted names of the features that hold a text: a set keeps no order of them."""
    features = dict(info.features) if hasattr(info.features, "items") else {}
    found = [key for key, kind in features.items() if type(kind).__name__ == "Text"]
    if not found:
        raise ValueError(
            f"TFDS set {name} has no feature of text, only {', '.join(features) or info.features}."
        )
    return sorted(found)


def _columns(name: str, split: str, dataset: Any, fields: list[str]) -> list[list[Any]]:
    """Returns the values of some features, texts decoded."""
    columns: list[list[Any]] = [[] for _ in fields]
    # Chosen before they are batched: others may have no common shape.
    chosen = dataset.map(lambda record: tuple(record[field] for field in fields))
    for block in chosen.batch(READ_BLOCK).as_numpy_iterator():
        for column, values in zip(columns, block, strict=True):
            for value in values.tolist():
                is_text = isinstance(value, bytes)
                column.append(decoded(value, name, split, len(column)) if is_text else value)
    return columns


def _origin(name: str, split: str) -> str:
    return f"tfds {name}, {split}"
