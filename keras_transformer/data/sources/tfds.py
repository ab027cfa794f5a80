"""Translation sets of TensorFlow Datasets (TFDS) as a `Corpus`, by name.

Data on disk is read without network access; data is downloaded only on request.
"""

import os
from typing import Any

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.distribution import install_command

READ_BLOCK = 1024


def load_tfds(
    name: str,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = False,
    source_language: str | None = None,
) -> Corpus:
    """Loads the splits `train`, `validation` and `test` of a translation set into memory.

    Args:
        name: Name of the set in TFDS, with the languages, e.g. "ted_hrlr_translate/pt_to_en" or
            "wmt14_translate/de-en".
        data_dir: Data directory of TFDS; its default, ~/tensorflow_datasets, if None.
        download: Whether to download the set if it is not on disk.
        source_language: The language to translate from, e.g. "en" to reverse
            "wmt14_translate/de-en"; the set's own order if None.

    Returns:
        The corpus; `valid` and `test` are None if the set has no such split.

    Raises:
        ImportError: Tensorflow-datasets is not installed.
        FileNotFoundError: The data is not on disk and `download` is False.
        OSError: The download failed.
        ValueError: TFDS has no such set, the set does not hold sentence pairs, or lacks a `train`
            split or `source_language`, or a sentence is not UTF-8.
    """
    splits, info = load_splits(name, data_dir, download, as_supervised=True)
    languages = _languages(name, info)
    if source_language not in (None, *languages):
        raise ValueError(
            f"source_language must be one of {', '.join(languages)} for {name}, got "
            f"{source_language!r}"
        )
    turned = source_language == languages[1]
    if "train" not in splits:
        raise ValueError(f"TFDS set {name} has no train split, only {', '.join(splits)}")
    return Corpus(
        train=_pairs(name, "train", splits["train"], turned),
        **{
            field: _pairs(name, split, splits[split], turned) if split in splits else None
            for field, split in (("valid", "validation"), ("test", "test"))
        },
    )


def load_splits(
    name: str, data_dir: str | os.PathLike[str] | None, download: bool, *, as_supervised: bool
) -> tuple[dict[str, Any], Any]:
    """Returns the data sets by split, and the builder's information.

    Args:
        name: Name of the set in TFDS.
        data_dir: Data directory of TFDS; its default if None.
        download: Whether to download the set if it is not on disk.
        as_supervised: Whether elements are input and target, instead of features by name.

    Raises:
        As `load_tfds`.
    """
    try:
        import tensorflow_datasets as tfds
    except ImportError as error:
        raise ImportError(
            f"load_tfds needs {error.name}: install it with `{install_command('tfds')}`."
        ) from error

    def load(download: bool) -> Any:
        return tfds.load(
            name,
            data_dir=None if data_dir is None else os.fspath(data_dir),
            download=download,
            as_supervised=as_supervised,
            with_info=True,
        )

    try:
        # First without: with download=True and no network, TFDS retries for minutes.
        return load(download=False)
    except tfds.core.DatasetNotFoundError as error:
        raise ValueError(f"TFDS has no set named {name.split('/')[0]!r}") from error
    except AssertionError as error:
        if "could not find data" not in str(error):
            raise
        if not download:
            raise FileNotFoundError(
                f"TFDS set {name} is not in {data_dir or 'the default TFDS directory'}; allow "
                "its download with download=True, or give its location with data_dir"
            ) from error
    try:
        return load(download=True)
    except OSError as error:
        raise OSError(f"TFDS set {name} could not be downloaded: {error}") from error


def _languages(name: str, info: Any) -> tuple[str, str]:
    """Returns source and target language in the builder's order."""
    keys = info.supervised_keys
    if type(info.features).__name__ != "Translation" or not keys or len(keys) != 2:
        raise ValueError(
            f"TFDS set {name} does not hold pairs of sentences (features: "
            f"{type(info.features).__name__}); choose a translation set of two languages"
        )
    return keys[0], keys[1]


def _pairs(name: str, split: str, dataset: Any, turned: bool) -> Pairs:
    sides: tuple[list[str], list[str]] = ([], [])
    for block in dataset.batch(READ_BLOCK).as_numpy_iterator():
        for side, texts in zip(sides, block, strict=True):
            for text in texts:
                side.append(decoded(text, name, split, len(side)))
    source, target = reversed(sides) if turned else sides
    return Pairs(source, target, f"tfds {name}, {split}")


def decoded(text: bytes, name: str, split: str, number: int) -> str:
    """Returns a text of an example as a string; `ValueError` names the example if it is none."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"TFDS set {name}, split {split}, example {number}: not UTF-8") from error
