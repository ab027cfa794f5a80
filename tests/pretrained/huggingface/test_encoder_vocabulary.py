"""XLM-RoBERTa's vocabulary: the same ids from either file, for a model of any form."""

import json
import shutil
from pathlib import Path

import pytest

from keras_transformer import TextEncoder, from_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.encoder_vocabulary import encoder_vocabulary
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.text.tokenizer import Tokenizer

XLM_ROBERTA = Path(__file__).parents[2] / "fixtures" / "stacks" / "xlm_roberta"
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
