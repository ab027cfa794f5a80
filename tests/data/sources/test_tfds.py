"""load_tfds through the real tfds.load, on a set stored on disk; nothing here needs a network."""

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from fresh_process import python

from keras_transformer.data.sources.tfds import load_tfds

NAME = "ted_hrlr_translate/pt_to_en"


def store(data_dir, splits):
    tfds.dataset_builders.store_as_tfds_dataset(
        name="ted_hrlr_translate",
        version="1.0.0",
        config="pt_to_en",
        features=tfds.features.Translation(languages=("pt", "en")),
        data_dir=data_dir,
        split_datasets={
            split: tf.data.Dataset.from_tensor_slices(columns) for split, columns in splits.items()
        },
        disable_shuffling=True,
    )


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    directory = tmp_path_factory.mktemp("tfds")
    train = {"pt": [f"olá {i}" for i in range(1500)], "en": [f"hello {i}" for i in range(1500)]}
    store(
        directory,
        {
            "train": train,
            "validation": {"pt": ["sim", "não"], "en": ["yes", "no"]},
            "test": {"pt": ["obrigado"], "en": ["thanks"]},
        },
    )
    return directory


def test_the_splits_become_a_corpus_in_the_sets_own_direction_and_order(data_dir):
    corpus = load_tfds(NAME, data_dir=data_dir)
    assert list(corpus.train.source) == [f"olá {i}" for i in range(1500)]
    assert list(corpus.train.target) == [f"hello {i}" for i in range(1500)]
    assert list(corpus.valid.source) == ["sim", "não"]
    assert list(corpus.test.target) == ["thanks"]
    assert corpus.valid.origin == f"tfds {NAME}, validation"


def test_source_language_turns_the_set_round(data_dir):
    corpus = load_tfds(NAME, data_dir=str(data_dir), source_language="en")
    assert list(corpus.valid.source) == ["yes", "no"]
    assert list(corpus.valid.target) == ["sim", "não"]
    same = load_tfds(NAME, data_dir=data_dir, source_language="pt")
    assert list(same.valid.source) == ["sim", "não"]


def test_a_language_that_the_set_lacks_is_refused(data_dir):
    with pytest.raises(ValueError, match="must be one of pt, en for .* got 'de'"):
        load_tfds(NAME, data_dir=data_dir, source_language="de")


def test_data_on_disk_is_never_downloaded(data_dir, monkeypatch):
    calls = []
    real = tfds.load
    monkeypatch.setattr(
        tfds, "load", lambda *a, **k: (calls.append(k["download"]), real(*a, **k))[1]
    )
    load_tfds(NAME, data_dir=data_dir, download=True)
    assert calls == [False]


def test_missing_data_tells_how_to_allow_the_download(tmp_path):
    with pytest.raises(FileNotFoundError, match="wmt14_translate/de-en is not in .*download=True"):
        load_tfds("wmt14_translate/de-en", data_dir=tmp_path)


def test_a_download_that_fails_names_the_set(tmp_path, monkeypatch):
    real = tfds.load

    def load(*args, download, **options):
        if download:
            raise ConnectionError("no route")
        return real(*args, download=download, **options)

    monkeypatch.setattr(tfds, "load", load)
    with pytest.raises(OSError, match=f"TFDS set {NAME} could not be downloaded: no route"):
        load_tfds(NAME, data_dir=tmp_path, download=True)


def test_an_unknown_set_is_refused_in_one_line(tmp_path):
    with pytest.raises(ValueError, match="TFDS has no set named 'no_such_set'") as caught:
        load_tfds("no_such_set/pt_to_en", data_dir=tmp_path)
    assert "\n" not in str(caught.value)


def test_an_unknown_configuration_is_refused(tmp_path):
    with pytest.raises(ValueError, match="xx_to_en not found"):
        load_tfds("ted_hrlr_translate/xx_to_en", data_dir=tmp_path)


def test_a_set_without_a_train_split_is_refused(tmp_path):
    store(tmp_path, {"test": {"pt": ["sim"], "en": ["yes"]}})
    with pytest.raises(ValueError, match="has no train split, only test"):
        load_tfds(NAME, data_dir=tmp_path)


def test_splits_that_the_set_lacks_are_none(tmp_path):
    store(tmp_path, {"train": {"pt": ["sim"], "en": ["yes"]}})
    corpus = load_tfds(NAME, data_dir=tmp_path)
    assert corpus.valid is None
    assert corpus.test is None


def test_text_that_is_not_utf8_names_split_and_example(tmp_path):
    store(tmp_path, {"train": {"pt": [b"sim", b"n\xe3o"], "en": [b"yes", b"no"]}})
    with pytest.raises(ValueError, match="split train, example 1: not UTF-8"):
        load_tfds(NAME, data_dir=tmp_path)


def test_without_tfds_the_error_tells_what_to_install():
    code = (
        "import sys; sys.modules['tensorflow_datasets'] = None\n"
        "from keras_transformer.data.sources.tfds import load_tfds\n"
        "try: load_tfds('a')\n"
        "except ImportError as error: print(error)"
    )
    done = python("-c", code)
    assert 'pip install "keras-seq2seq-transformer[tfds]"' in done.stdout
