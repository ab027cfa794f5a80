"""Trained vectors: words of one kind are near, the same seed gives the same file, and bad input is
told before any work.
"""

import random
from pathlib import Path
from typing import get_args

import pytest

from keras_transformer.vectors.files import VectorFile
from keras_transformer.vectors.neighbours import WordVectors
from keras_transformer.vectors.options import Method, VectorOptions
from keras_transformer.vectors.train import train_vectors
from tools.covering import some

OF_TEXT = [method for method in get_args(Method) if method != "poincare"]
SMALL = {"dim": 16, "epochs": 30, "window": 2}


@pytest.fixture(scope="module")
def animals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Animals that run and cities that grow."""
    draw = random.Random(0)
    kinds = {"the {} ran home": ("dog", "cat", "horse"), "in {} houses grow": ("Rome", "Oslo")}
    path = tmp_path_factory.mktemp("text") / "text.txt"
    lines = (draw.choice([(f, w) for f, ws in kinds.items() for w in ws]) for _ in range(2000))
    path.write_text("".join(f"{form.format(word)}\n" for form, word in lines), "utf-8")
    return path


@pytest.mark.parametrize("method", some(OF_TEXT, *(one for one in OF_TEXT if one != "glove")))
def test_words_in_the_same_places_are_neighbours(tmp_path, animals, method: Method) -> None:
    options = VectorOptions(method=method, **SMALL)
    vectors = WordVectors(VectorFile.open(train_vectors([animals], tmp_path / "v.txt", options)))
    assert vectors.neighbours("Oslo", 1)[0][0] == "Rome" or method in ("fasttext", "glove")
    near = dict(vectors.neighbours("dog", 20))
    assert min(near["cat"], near["horse"]) > max(near["Rome"], near["Oslo"])


@pytest.mark.parametrize(
    "method", some(get_args(Method), *(one for one in get_args(Method) if one != "glove"))
)
def test_the_same_seed_gives_the_same_file(tmp_path, animals, method: Method) -> None:
    text = animals
    if method == "poincare":
        text = tmp_path / "relations.tsv"
        text.write_text("dog\tanimal\ncat\tanimal\nanimal\tthing\nOslo\tcity\ncity\tthing\n")
    options = VectorOptions(method=method, dim=4, epochs=2)
    first, second = (
        train_vectors([text], tmp_path / name, options).read_bytes() for name in ("1.txt", "2.txt")
    )
    assert first == second


@pytest.mark.parametrize(
    ("name", "form"), [("v.vec.gz", "text"), ("v.bin", "fasttext"), ("v.txt", "text")]
)
def test_every_ending_is_read_again(tmp_path, animals, name: str, form: str) -> None:
    options = VectorOptions(method="fasttext", **SMALL)
    file = VectorFile.open(train_vectors([animals], tmp_path / name, options))
    assert (file.form, file.dim) == (form, 16)
    assert file.read()("horse") is not None
    assert (file.read()("horses") is not None) == (form == "fasttext")


def test_relations_place_what_is_above_near_the_centre(tmp_path: Path) -> None:
    kinds = {"animal": ("dog", "cat", "horse", "cow"), "city": ("Rome", "Oslo", "Paris", "Bonn")}
    relations = [f"{word}\t{kind}\n" for kind, words in kinds.items() for word in words]
    relations += [f"{word}\tthing\n" for kind, words in kinds.items() for word in (kind, *words)]
    (tmp_path / "r.tsv").write_text("".join(relations), "utf-8")
    options = VectorOptions(method="poincare", dim=2, epochs=200)
    path = train_vectors([tmp_path / "r.tsv"], tmp_path / "p.txt", options)
    vectors = WordVectors(VectorFile.open(path), "poincare")
    lengths = {word: float(vectors[word] @ vectors[word]) for word in vectors.words}
    assert min(lengths, key=lengths.__getitem__) == "thing"
    assert lengths["animal"] < lengths["dog"]


@pytest.mark.parametrize(
    ("text", "name", "options", "message"),
    [
        ("one two\n", "v.csv", {}, "ends in .txt, .vec, .txt.gz, .vec.gz, .bin, got"),
        ("one two\n", "v.txt", {}, "0 of 2 words occur at least 2 times, and vectors need two"),
        ("a\na\nb\nb\n", "v.txt", {"method": "glove"}, "no two words of the text stand in one"),
        ("a\tb\na b\n", "v.txt", {"method": "poincare"}, r"line 2: expected two different words"),
        ("a\n" * 2, "v.txt", {"method": "poincare"}, "2 lines cannot be .* line 1: .*; line 2: "),
        ("", "v.txt", {"method": "poincare"}, "there is no relation"),
    ],
)
def test_bad_input_is_told(tmp_path: Path, text, name, options, message: str) -> None:
    (tmp_path / "text.txt").write_text(text, "utf-8")
    with pytest.raises(ValueError, match=message):
        train_vectors([tmp_path / "text.txt"], tmp_path / name, VectorOptions(**options))
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "elmo"}, "method must be one of"),
        ({"dim": 0}, "dim must be at least 1, got 0"),
        ({"method": "poincare", "window": 3}, "window is for texts, and poincare learns from"),
        ({"seed": 2**32}, "seed must be at most"),
    ],
)
def test_options_are_checked(options, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        VectorOptions(**options)


@pytest.mark.parametrize(
    ("words", "passes", "least"), [(100, 40, 2), (1_000_000, 10, 5), (10**9, 5, 5)]
)
def test_small_texts_are_read_more_often(words: int, passes: int, least: int) -> None:
    options = VectorOptions()
    assert (options.passes(words), options.least_count(words)) == (passes, least)
