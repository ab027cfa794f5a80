"""Directories that Hugging Face's library saved today, which keeps of a SentencePiece model what a
`tokenizer.json` holds: ids are those of the model.
"""

import base64
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keras_transformer import Tokenizer
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.pretrained.sentencepiece_json import read_pieces
from keras_transformer.pretrained.sentencepiece_models import tokenizer_of
from keras_transformer.text.sentencepiece_messages import read_message
from keras_transformer.text.tokenizer import train_tokenizer

FIXTURES = Path(__file__).parents[2] / "fixtures"
SAVED = FIXTURES / "saved_tokenizers"
NAMES = sorted(path.name for path in SAVED.iterdir())


def saved(name: str, room: Path) -> tuple[Path, Path]:
    """Returns a directory as it was made, and as it is saved again."""
    [made] = (path for path in FIXTURES.glob(f"*/{name}") if path.parent != SAVED)
    again = room / name
    again.mkdir()
    for file in made.iterdir():
        if file.suffix != ".model" and not file.name.startswith("tokenizer"):
            shutil.copy(file, again)
    for file in (SAVED / name).iterdir():
        shutil.copy(file, again)
    return made, again


@pytest.mark.parametrize("name", NAMES)
def test_ids_are_those_of_the_sentencepiece_model(name: str, tmp_path: Path) -> None:
    made, again = map(read_pretrained, saved(name, tmp_path))
    # Where no file says that a text begins with bos, their library saves that none does.
    starts = getattr(again.config, "starts_prompts", None)
    own = made.config if starts is None else replace(made.config, starts_prompts=starts)
    assert again.config == own
    reference = json.loads((saved_reference(name)).read_text(encoding="utf-8"))
    texts = [*reference["hostile"], *reference.get("sources", reference.get("texts", ()))]
    expected, found = made.tokenizers[0], again.tokenizers[0]
    assert found.encode(texts) == expected.encode(texts)
    assert found.decode(found.encode(texts)) == expected.decode(expected.encode(texts))
    assert found.sentinel_ids == expected.sentinel_ids
    assert found.special_ids == expected.special_ids


def saved_reference(name: str) -> Path:
    [path] = FIXTURES.glob(f"*/{name}/reference.json")
    return path


@pytest.fixture(scope="module")
def normalizing() -> Tokenizer:
    """A SentencePiece model with a table of NFKC."""
    return train_tokenizer(["fine files of the first kind 1 2"] * 3, 22)


def json_of(tokenizer: Tokenizer, **changes: Any) -> dict[str, Any]:
    """What Hugging Face's converter writes of a unigram model."""
    message = read_message(tokenizer.model)
    charsmap = base64.b64encode(message.normalizer_spec.precompiled_charsmap).decode()
    special = ("<pad>", "<unk>", "<s>", "</s>")
    return {
        "added_tokens": [
            {"id": token, "content": name, "special": True} for token, name in enumerate(special)
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": charsmap},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
        "model": {
            "type": "Unigram",
            "unk_id": 1,
            "vocab": [[piece.piece, piece.score] for piece in message.pieces],
        },
        **changes,
    }


def write(path: Path, values: dict[str, Any]) -> Path:
    (path / "tokenizer.json").write_text(json.dumps(values), encoding="utf-8")
    return path


def test_texts_are_normalized_by_its_table(normalizing: Tokenizer, tmp_path: Path) -> None:
    texts = ["\ufb01ne \uff46\uff49les", " of  the\tfirst ", "\u2460 \u2461", "kind\u00a01"]
    model, ids, _ = read_pieces(write(tmp_path, json_of(normalizing)), "spiece.model")
    found = tokenizer_of(model, ids=ids, bos="<s>")
    assert found.encode(texts) == normalizing.encode(texts)
    assert normalizing.encode(texts[:1]) == normalizing.encode(["fine files"])


def test_the_sentencepiece_model_itself_comes_first(tmp_path: Path) -> None:
    """As Llama 2, TinyLlama and Mistral are published, with both."""
    made, again = saved("llama_sentencepiece", tmp_path)
    shutil.copy(made / "tokenizer.model", again)
    [found, _], [expected, _] = (read_pretrained(path).tokenizers for path in (again, made))
    assert found.encode(["a house"]) == expected.encode(["a house"])
    (again / "tokenizer.model").write_bytes(b"nothing")
    with pytest.raises(ImportRefusedError, match=r"tokenizer.model is no SentencePiece model"):
        read_pretrained(again)


def changed(**changes: Any) -> Callable[[Tokenizer], dict[str, Any]]:
    return lambda tokenizer: json_of(tokenizer, **changes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            changed(normalizer={"type": "Lowercase"}),
            "it has Lowercase, which SentencePiece has not",
        ),
        (changed(model={"type": "WordLevel", "vocab": {}}), "its model is 'WordLevel'"),
        (changed(model={"type": "Unigram", "unk_id": 0}), "'vocab'"),
        (
            changed(model={"type": "BPE", "unk_token": None, "vocab": {"a": 0}, "merges": []}),
            "None",
        ),
        (
            changed(normalizer={"type": "Precompiled", "precompiled_charsmap": "?"}),
            "no vocabulary of SentencePiece's kind",
        ),
    ],
)
def test_vocabularies_of_other_kinds_are_refused(
    make: Callable[[Tokenizer], dict[str, Any]],
    message: str,
    normalizing: Tokenizer,
    tmp_path: Path,
) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        read_pieces(write(tmp_path, make(normalizing)), "spiece.model")
