"""Tokens that users added to a vocabulary, and T5's sentinels: ids are those of Hugging Face's
tokenizers, in Python and in graphs, wherever spaces are and are not.
"""

import json
import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer import Tokenizer
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.vocabularies import (
    Vocabularies,
    marian_vocabularies,
    t5_vocabularies,
)
from keras_transformer.text.added_pieces import with_words
from keras_transformer.text.graph_tokenizer import GraphTokenizer

FIXTURES = Path(__file__).parents[2] / "fixtures"
MADE, ADDED = FIXTURES / "translators", FIXTURES / "added_tokens"
READERS = {"t5": t5_vocabularies, "marian_huggingface": marian_vocabularies}
PARTS = ("<hl>", "<hl>2", "<extra_id_0>", "a", "dog", " the", ".", " ", "  ", "é", "\u3000")


def read(path: Path, name: str, more: int = 4) -> Vocabularies:
    """Reads the vocabulary of a model that has so many ids more than it was made with."""
    values = json.loads((MADE / name / "config.json").read_text(encoding="utf-8"))
    values["vocab_size"] += more
    return READERS[name](path, Fields(path / "config.json", values))


@pytest.fixture(scope="module", params=READERS)
def name(request: pytest.FixtureRequest) -> str:
    """One of the models whose tokenizers got further tokens."""
    return request.param


@pytest.fixture(scope="module")
def saved(name: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with all of its files."""
    path = tmp_path_factory.mktemp("saved") / name
    shutil.copytree(ADDED / f"{name}_added", path)
    for file in (MADE / name).glob("*.spm"):
        shutil.copy(file, path)
    return path


@pytest.fixture(scope="module")
def tokenizer(name: str, saved: Path) -> Tokenizer:
    """Its tokenizer."""
    return read(saved, name).tokenizers[0]


def graph_ids(tokenizer: Tokenizer, texts: list[str]) -> list[list[int]]:
    return GraphTokenizer(tokenizer.model).tokenize(tf.constant(texts)).to_list()


def test_ids_are_those_of_the_original(name: str, tokenizer: Tokenizer) -> None:
    reference = json.loads((ADDED / f"{name}_added" / "reference.json").read_text(encoding="utf-8"))
    assert tokenizer.encode(reference["texts"]) == reference["ids"]
    assert graph_ids(tokenizer, reference["texts"]) == reference["ids"]


def test_files_beside_the_sentencepiece_model_give_the_same_ids(tmp_path: Path) -> None:
    shutil.copy(MADE / "t5" / "spiece.model", tmp_path)
    [*_, config] = sorted((ADDED / "t5_added").glob("tokenizer*.json"))
    names = json.loads((ADDED / "t5_added" / "tokenizer.json").read_text(encoding="utf-8"))
    ids = {one["content"]: one["id"] for one in names["added_tokens"]}
    shutil.copy(config, tmp_path)
    (tmp_path / "added_tokens.json").write_text(json.dumps(ids), encoding="utf-8")
    reference = json.loads((ADDED / "t5_added" / "reference.json").read_text(encoding="utf-8"))
    found = read(tmp_path, "t5").tokenizers[0]
    assert found.encode(reference["texts"]) == reference["ids"]


def test_a_token_without_weights_is_refused(name: str, saved: Path) -> None:
    with pytest.raises(ImportRefusedError, match=r"the token '.*' with the id \d+, and .*config"):
        read(saved, name, more=-15 if name == "t5" else 0)


@given(parts=st.lists(st.sampled_from(PARTS), max_size=8))
def test_graphs_places_and_pieces_agree_with_ids(tokenizer: Tokenizer, parts: list[str]) -> None:
    text = "".join(parts)
    [ids] = tokenizer.encode([text])
    assert tokenizer.encode([text] * 100) == [ids] * 100
    assert graph_ids(tokenizer, [text, ""]) == [ids, []]
    placed = tokenizer.subwords.place(text)
    pieces = tokenizer.split(text)
    assert len(pieces) == len(placed) == len(ids)
    for piece, one, token in zip(pieces, placed, ids, strict=True):
        if token in tokenizer.subwords.symbols.values():
            assert (
                text[one.start : one.end] == one.spelling == piece == tokenizer.pieces([token])[0]
            )


def test_words_can_be_added_behind_them(tokenizer: Tokenizer) -> None:
    grown = with_words(tokenizer, ["zebra"])
    texts = ["a dog<hl>the dog", "zebra <hl> zebra"]
    [first, second] = grown.encode(texts)
    assert first == tokenizer.encode(texts)[0]
    assert second.count(tokenizer.vocab_size) == 2
    assert graph_ids(grown, texts) == [first, second]
