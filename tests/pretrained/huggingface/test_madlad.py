"""MADLAD-400, a T5 whose sources begin with a tag of the language to translate into."""

import shutil
from pathlib import Path

import pytest
import sentencepiece

from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.sentencepiece_messages import (
    CONTROL,
    USER_DEFINED,
    read_message,
    write_message,
)
from keras_transformer.translation.marked import read_tags

FIXTURE = Path(__file__).parents[2] / "fixtures" / "translators" / "t5_1_1"
TAGS, TEXT = ("<2de>", "<2zh_Hant>"), "A man in a hat."


def madlad(path: Path, kind: int = USER_DEFINED) -> Path:
    """Writes a T5 1.1 whose last pieces are tags; returns its directory."""
    shutil.copytree(FIXTURE, path)
    model = read_message((path / "spiece.model").read_bytes())
    for piece, tag in zip(model.pieces[-2:], TAGS, strict=True):
        piece.piece, piece.type = tag, kind
    (path / "spiece.model").write_bytes(write_message(model))
    return path


@pytest.mark.parametrize("tag", TAGS)
def test_a_source_has_the_ids_of_its_text_behind_the_tag(tag: str, tmp_path: Path) -> None:
    path = madlad(tmp_path / "madlad")
    pieces = sentencepiece.SentencePieceProcessor(str(path / "spiece.model"))
    found = read_pretrained(path)
    marks, [tokenizer, _] = found.config.marks, found.tokenizers
    assert marks.languages == {one[2:-1]: pieces.piece_to_id(one) for one in TAGS}
    tagged = marks.read_tag(f"{tag} {TEXT}")
    begins = marks.begins(target_language=tagged.language)
    [row] = tokenizer.encode([tagged.text])
    assert [*begins.source, *row] == pieces.encode(f"{tag} {TEXT}")


def test_a_tag_and_the_option_choose_the_same_and_one_is_needed(tmp_path: Path) -> None:
    marks = read_pretrained(madlad(tmp_path / "madlad")).config.marks
    options = SearchOptions(target_language="de")
    texts, [tagged, plain] = read_tags(marks, [f"<2de> {TEXT}", TEXT], options)
    assert texts == [TEXT, TEXT] and tagged == plain
    with pytest.raises(ValueError, match=r"target_language must be one of 2 \(de, zh_Hant\)"):
        read_tags(marks, [TEXT], SearchOptions())


def test_pieces_that_no_text_is_split_to_are_no_tags(tmp_path: Path) -> None:
    assert not read_pretrained(madlad(tmp_path / "madlad", CONTROL)).config.marks.languages
