"""Llama's SentencePiece vocabularies: which ids end, begin and pad, and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.llama_vocabulary import llama_vocabulary

LLAMA = Path(__file__).parents[1] / "fixtures" / "stacks" / "llama_sentencepiece"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A directory with a vocabulary alone."""
    shutil.copy(LLAMA / "tokenizer.model", tmp_path)
    return tmp_path


def read(path: Path, **changes: Any) -> Any:
    values = json.loads((LLAMA / "config.json").read_text(encoding="utf-8"))
    return llama_vocabulary(path, Fields(path / "config.json", {**values, **changes}))


def size(path: Path) -> int:
    return sentencepiece.SentencePieceProcessor(str(path / "tokenizer.model")).get_piece_size()


def test_a_padding_comes_after_the_last_piece(copied: Path) -> None:
    special = read(copied).special_ids
    assert (special.unk, special.bos, special.eos) == (0, 1, 2)
    assert special.pad == size(copied)
    assert special.decoder_start == special.bos


def test_a_padding_that_is_the_unknown_piece_or_the_end_is_none(copied: Path) -> None:
    for token in (-1, 0, 2):
        assert read(copied, pad_token_id=token).special_ids.pad == size(copied)


def test_tokens_beside_the_model_may_pad_and_end_but_are_no_text(copied: Path) -> None:
    first = size(copied)
    added = {"<pad>": first, "<|end|>": first + 1}
    (copied / "added_tokens.json").write_text(json.dumps(added))
    fields = {"pad_token_id": first, "eos_token_id": [first + 1, 2], "vocab_size": first + 2}
    tokenizer = read(copied, **fields)
    assert tokenizer.special_ids.pad == first
    assert tokenizer.special_ids.eos == first + 1
    assert tokenizer.vocab_size == first + 2
    [ids] = tokenizer.encode(["a <|end|> of it"])
    assert max(ids) < first


def test_an_end_that_the_vocabulary_lacks_is_named(copied: Path) -> None:
    with pytest.raises(ImportRefusedError, match=r"eos_token_id: 9999, which is no id of .*model"):
        read(copied, eos_token_id=9999)


def test_a_missing_vocabulary_says_what_may_be_there(copied: Path) -> None:
    (copied / "tokenizer.model").unlink()
    with pytest.raises(ImportRefusedError, match=r"of a Llama, tokenizer.model must lie"):
        read(copied)


def test_a_damaged_vocabulary_is_named(copied: Path) -> None:
    (copied / "tokenizer.model").write_bytes(b"nothing")
    with pytest.raises(ImportRefusedError, match=r"tokenizer.model is no SentencePiece model"):
        read(copied)


PHI = LLAMA.parent / "phi3"


@pytest.mark.parametrize("is_legacy", [False, True])
def test_tokens_of_roles_are_read_as_they_are_spelled(tmp_path: Path, is_legacy: bool) -> None:
    values = json.loads((PHI / "tokenizer.json").read_text(encoding="utf-8"))
    if is_legacy:
        values["pre_tokenizer"]["prepend_scheme"] = "always"
    (tmp_path / "tokenizer.json").write_text(json.dumps(values))
    config = json.loads((PHI / "config.json").read_text(encoding="utf-8"))
    tokenizer = llama_vocabulary(tmp_path, Fields(tmp_path / "config.json", config))
    [ids] = tokenizer.encode(["A man<|assistant|>man<|endoftext|>"])
    pieces = [tokenizer.subwords.piece(one) for one in ids]
    assert pieces[: pieces.index("<|assistant|>") + 2][-2:] == [
        "<|assistant|>",
        "▁m" if is_legacy else "m",
    ]
    # The end of a text is none of it.
    assert tokenizer.special_ids.eos not in ids
