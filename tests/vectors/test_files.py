"""Files of word vectors in every form: what they are taken for, and which vector a word gets."""

import gzip
import re
from pathlib import Path

import numpy as np
import pytest
from fresh_process import python
from gensim.models import FastText
from gensim.models.fasttext import save_facebook_model

from keras_transformer.vectors.files import VectorFile

WORDS = ("the", "House", "naïve", ",")
VECTORS = np.random.default_rng(0).normal(size=(4, 5)).astype(np.float32)


def lines() -> str:
    rows = zip(WORDS, VECTORS, strict=True)
    return "".join(f"{word} {' '.join(map(repr, row.tolist()))}\n" for word, row in rows)


def binary(separator: bytes) -> bytes:
    """As word2vec.c writes it; gensim and others leave out the line feed after a vector."""
    rows = zip(WORDS, VECTORS, strict=True)
    return b"4 5\n" + b"".join(
        word.encode() + b" " + row.tobytes() + separator for word, row in rows
    )


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("word2vec.txt", b"4 5\n" + lines().encode(), "text"),
        ("fasttext.vec", b"4 5\n" + lines().replace("\n", " \n").encode(), "text"),
        ("glove.txt", lines().encode(), "bare text"),
        ("word2vec.bin", binary(b"\n"), "binary"),
        ("gensim.bin", binary(b""), "binary"),
        ("word2vec.txt.gz", gzip.compress(mtime=0, data=b"4 5\n" + lines().encode()), "text"),
        ("glove.txt.gz", gzip.compress(mtime=0, data=lines().encode()), "bare text"),
        ("word2vec.bin.gz", gzip.compress(mtime=0, data=binary(b"\n")), "binary"),
    ],
)
def test_each_form_is_known_by_its_content(
    tmp_path: Path, name: str, content: bytes, form: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    file = VectorFile.open(path)
    assert (file.form, file.dim) == (form, 5)
    find = file.read()
    for word, vector in zip(WORDS, VECTORS, strict=True):
        np.testing.assert_array_equal(find(word), vector)
    np.testing.assert_array_equal(find("THE"), VECTORS[0])
    assert find("house") is None and find("tree") is None


def test_words_with_spaces_are_left_out(tmp_path: Path, capsys) -> None:
    path = tmp_path / "glove.txt"
    numbers = " ".join(map(repr, VECTORS[0].tolist()))
    path.write_text(f". . . {numbers}\nat 5 {numbers}\n{lines()}the {numbers}\n", encoding="utf-8")
    file = VectorFile.open(path)
    assert (file.form, file.dim) == ("bare text", 5)
    find = file.read()
    assert "glove.txt: 2 words with spaces are left out" in capsys.readouterr().out
    np.testing.assert_array_equal(find("the"), VECTORS[0])
    np.testing.assert_array_equal(find("naïve"), VECTORS[2])
    assert find(".") is None and find("5") is None


def test_a_model_of_fasttext_has_vectors_of_unknown_words(tmp_path: Path) -> None:
    model = FastText(
        [["dog", "house"], ["cat", "house"]], vector_size=6, min_count=1, bucket=90, epochs=1
    )
    save_facebook_model(model, str(tmp_path / "model.bin"))
    file = VectorFile.open(tmp_path / "model.bin")
    assert (file.form, file.dim) == ("fasttext", 6)
    find = file.read()
    for word in ("dog", "houses", "Unseen"):
        np.testing.assert_allclose(find(word), model.wv[word], rtol=1e-6)
    np.testing.assert_allclose(find("Dog"), model.wv["dog"], rtol=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", b"", "empty.txt has no word vectors: expected a line with a word and its"),
        ("prose.txt", b"It was a dark night.\n", "prose.txt has no word vectors"),
        ("short.bin", binary(b"")[:30], "short.bin is a damaged file of word vectors"),
        ("a.txt", b"a 1 2\nb 1\n", "a.txt is a damaged file of word vectors: line 2 has 1 numbers"),
        ("b.txt", b"a 1 2\nb 1 x\n", "b.txt is a damaged file of word vectors: line 2: could not"),
        ("model.bin", b"\xba\x16O/" + bytes(20), "model.bin is a damaged file of word vectors"),
        (
            "packed.txt",
            gzip.compress(mtime=0, data=b"a 1 2\n"),
            "packed.txt: the name of a compressed file must",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(message)):
        VectorFile.open(path).read()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such file: .*nowhere.vec"):
        VectorFile.open(tmp_path / "nowhere.vec")


def test_without_gensim_the_error_says_what_to_install(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(lines())
    code = (
        "import sys; sys.modules['gensim'] = None\n"
        "from pathlib import Path\n"
        "from keras_transformer.vectors.files import VectorFile\n"
        f"try:\n    VectorFile.open(Path({str(path)!r}))\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = python("-c", code)
    assert 'install it with `pip install "keras-seq2seq-transformer[vectors]"`' in done.stdout
