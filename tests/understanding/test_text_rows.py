"""Rows of texts: spaces before masks, places of tokens, and ids that are refused."""

from typing import Any

import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.understanding.text_rows import TextRows


@pytest.fixture
def rows(masked_tokenizer: Tokenizer) -> TextRows:
    special = masked_tokenizer.special_ids
    config = EncoderConfig.preset("bert-tiny", vocab_size=60, special_ids=special)
    return TextRows(config, TextIds(masked_tokenizer.subwords, special), None, "refuse")


def test_only_a_space_right_before_a_mask_is_dropped(
    rows: TextRows, masked_tokenizer: Tokenizer
) -> None:
    mask, space = masked_tokenizer.special_ids.mask, masked_tokenizer.subwords.space
    [plain] = masked_tokenizer.encode(["<mask> <mask> a<mask> "])
    [found] = rows.encode(["<mask> <mask> a<mask> "])
    assert plain.count(space) > 0
    assert found == [token for token in plain if token != space]
    assert found.count(mask) == 3
    assert rows.encode([""]) == [[]]


@pytest.mark.parametrize(
    "text", ["日本 <mask> ☃  x\ty", " <mask>", "a \u200b<mask> ＜mask＞㍿", ""]
)
def test_every_token_has_its_place(rows: TextRows, masked_tokenizer: Tokenizer, text: str) -> None:
    [ids], placed = rows.encode([text]), rows.placed(text)
    assert len(ids) == len(placed)
    for token, one in zip(ids, placed, strict=True):
        is_mask = text[one.start : one.end] in ("<mask>", "＜mask＞")
        assert (token == masked_tokenizer.special_ids.mask) == is_mask


@pytest.mark.parametrize("token", [0, 2, 3])
def test_ids_that_no_text_gives_are_refused(rows: TextRows, token: int) -> None:
    with pytest.raises(ValueError, match=f"row 1 holds token {token}: it must hold ids of text"):
        rows.of_ids([[9], [9, token, 9]])


@pytest.mark.parametrize(("ids", "got"), [([[4.5]], r"\[4.5\]"), ([4], "4"), (["a"], "'a'")])
def test_what_are_no_rows_of_integers_is_refused(rows: TextRows, ids: Any, got: str) -> None:
    with pytest.raises(TypeError, match=f"ids must be rows of integers, .* got {got} as row 0"):
        rows.of_ids(ids)
