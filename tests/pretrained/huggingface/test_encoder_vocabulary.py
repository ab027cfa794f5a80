"""XLM-RoBERTa's vocabulary: the same ids from either file, for a model of any form."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from keras_transformer import TextEncoder, from_pretrained
from keras_transformer.export import export_pretrained
from keras_transformer.models.families import build_model
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.encoder_vocabulary import (
    encoder_vocabulary,
    pair_separators_of,
)
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.tokenizer import Tokenizer

XLM_ROBERTA = Path(__file__).parents[2] / "fixtures" / "stacks" / "xlm_roberta"
BERT = XLM_ROBERTA.parent / "bert"
FILES = ("sentencepiece.bpe.model", "tokenizer.json")
# With masks, as Hugging Face's tokenizer gives them: a space before one is not text.
MASKED = {
    "A man <mask> here.": [0, 4, 265, 181, 281, 55, 17, 5, 2],
    "<mask> man": [0, 281, 181, 2],
    "A man in a<mask>": [0, 4, 265, 181, 22, 20, 281, 2],
    "x <mask> <mask> y": [0, 4, 118, 281, 281, 4, 13, 2],
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(XLM_ROBERTA, tmp_path / "model"))


def read(path: Path, **changed: object) -> Tokenizer:
    values = json.loads((path / "config.json").read_text(encoding="utf-8"))
    return encoder_vocabulary(path, Fields(path / "config.json", {**values, **changed}))


@pytest.mark.parametrize("file", FILES)
def test_either_file_gives_the_ids(file: str, copy: Path) -> None:
    (copy / file).unlink()
    reference = json.loads((copy / "reference.json").read_text(encoding="utf-8"))
    found = read(copy)
    assert found.encode(reference["hostile"]) == reference["hostile_ids"]
    special = found.special_ids
    assert (special.bos, special.pad, special.eos, special.unk, special.mask) == (0, 1, 2, 3, 281)


def test_more_ids_than_pieces_are_unused(copy: Path) -> None:
    assert read(copy, vocab_size=290).vocab_size == 290


def test_neither_file_is_named(copy: Path) -> None:
    for file in FILES:
        (copy / file).unlink()
    with pytest.raises(ImportRefusedError, match="has no tokenizer"):
        read(copy)


def test_masks_in_texts_have_their_ids() -> None:
    model, tokenizer, _ = from_pretrained(XLM_ROBERTA)
    encoder = TextEncoder(model, tokenizer)
    assert [row.token_ids for row in encoder._rows.of_texts(list(MASKED))] == list(MASKED.values())
    [fillings] = encoder.fill_mask(["A man <mask> here."], num_hypotheses=3)
    assert len(fillings) == 3


def test_an_mpnet_s_pieces_alone_give_its_ids(tmp_path: Path) -> None:
    """Its list has BERT's unknown token, RoBERTa's other special ones and RoBERTa's unknown one."""
    path = Path(shutil.copytree(XLM_ROBERTA.parent / "mpnet", tmp_path / "model"))
    whole = read(path)
    pieces = json.loads((path / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
    (path / "tokenizer.json").unlink()
    (path / "vocab.txt").write_text("\n".join(sorted(pieces, key=pieces.get)) + "\n")
    reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
    found = read(path)
    assert found.encode(reference["hostile"]) == reference["hostile_ids"]
    assert found.special_ids == whole.special_ids
    special = found.special_ids
    assert (special.bos, special.pad, special.eos, special.unk, special.mask) == (0, 1, 2, 4, 280)


def test_an_albert_s_pieces_alone_are_refused(tmp_path: Path) -> None:
    """They do not say that accents and capitals go."""
    path = Path(shutil.copytree(XLM_ROBERTA.parent / "albert", tmp_path / "model"))
    (path / "tokenizer.json").rename(path / "spiece.model")
    with pytest.raises(ImportRefusedError, match=r"spiece.model alone does not say .*save_pretr"):
        from_pretrained(path)


TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [],
    "pair": [
        {"Sequence": {"id": "A"}},
        *[{"SpecialToken": {"id": "[SEP]"}}] * 2,
        {"Sequence": {"id": "B"}},
    ],
    "special_tokens": {},
}


@pytest.mark.parametrize(
    ("step", "separators"),
    [
        ({"type": "BertProcessing"}, 1),
        ({"type": "RobertaProcessing"}, 2),
        (TEMPLATE, 2),
        ({"type": "Sequence", "processors": [{"type": "ByteLevel"}, TEMPLATE]}, 2),
        ({**TEMPLATE, "pair": TEMPLATE["pair"][:1]}, None),
        ({**TEMPLATE, "pair": 3}, None),
        (None, None),
        ([], None),
    ],
)
def test_a_tokenizer_says_what_stands_between_two_texts(step: Any, separators: int | None) -> None:
    assert pair_separators_of(json.dumps({"post_processor": step}).encode()) == separators
    assert pair_separators_of(b"{") is pair_separators_of(b"3") is None


@pytest.mark.parametrize("name", ["vocab.txt", "tokenizer.json"])
@pytest.mark.parametrize("separators", [1, 2])
def test_as_many_separators_leave_as_a_model_reads(
    separators: int, name: str, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(BERT, tmp_path / "bert"))
    vocabulary = tokenizers.Tokenizer.from_file(str(path / "tokenizer.json"))
    if name == "vocab.txt":
        (path / "tokenizer.json").unlink()
        ids = vocabulary.get_vocab()
        (path / name).write_text("\n".join(sorted(ids, key=ids.__getitem__)), encoding="utf-8")
    read, tokenizer, _ = from_pretrained(path)
    assert read.config.pair_separators == 1
    model = build_model(replace(read.config, pair_separators=separators))
    out = export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    assert read_pretrained(out).config == model.config
    theirs = tokenizers.Tokenizer.from_file(str(out / "tokenizer.json")).encode("a", "b").ids
    [[first], [second]] = tokenizer.encode(["a", "b"])
    rows = encoder_row([first], [second], tokenizer.special_ids, separators)
    assert theirs == rows[0]
