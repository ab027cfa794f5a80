"""Pairs in files that hold texts beside their translations, to train and to evaluate on."""

from pathlib import Path

import pytest

from keras_transformer.cli.corpora import DataOptions, read_corpus
from keras_transformer.data.sources.streams import CatalogueFiles
from keras_transformer.files.pairs import translated_pairs

ENTRIES = {
    'msgid "a"\nmsgstr "b"': [("a", "b")],
    'msgid "a"\nmsgstr ""': [],
    '#, fuzzy\nmsgid "a"\nmsgstr "b"': [],
    'msgid "a\\n b\\n"\nmsgstr "c\\n d\\n"': [("a", "c"), ("b", "d")],
    'msgid "a\\nb"\nmsgstr "c"': [("a b", "c")],
    'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] "d"': [("a", "c"), ("b", "d")],
}


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "a.po"
    path.write_text("\n\n".join(ENTRIES) + "\n")
    return path


def test_what_somebody_translated_is_read(catalogue: Path) -> None:
    pairs = list(translated_pairs(catalogue))
    assert pairs == [pair for own in ENTRIES.values() for pair in own]


def test_a_corpus_is_made_of_catalogues(catalogue: Path) -> None:
    options = DataOptions(data="po", train_files=[catalogue], valid_files=[catalogue])
    corpus = read_corpus(options)
    assert corpus.valid is not None and options.has_valid
    assert corpus.train.source == corpus.valid.source == ("a", "a", "b", "a b", "a", "b")


def test_prepare_streams_the_same_pairs(catalogue: Path) -> None:
    stream = CatalogueFiles((catalogue,))
    assert list(stream.pairs()) == list(translated_pairs(catalogue))
    assert list(stream.sentences(1)) == [pair[1] for pair in stream.pairs()]
    assert stream.count({}) == 6


def test_a_file_without_translations_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.po"
    path.write_text('msgid "a"\nmsgstr ""\n')
    with pytest.raises(ValueError, match="a.po holds no translation"):
        list(translated_pairs(path))


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"data": "po"}, "--data po needs --train-files."),
        (
            {"data": "tsv", "train_tsv": ["a"], "train_files": ["b"]},
            "--train-files belongs to --data po or xliff or tmx, but --data is tsv.",
        ),
    ],
)
def test_flags_of_other_kinds_are_refused(fields: dict, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        DataOptions(**fields)
