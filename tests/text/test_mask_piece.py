"""The piece `<mask>`: of vocabularies that ask for it, read alike in plain Python and in graphs."""

import pytest
import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.tokenizer import MASK_PIECE, Tokenizer, train_tokenizer

TEXTS = [
    "the old <mask> sees a dog.",
    "<mask>",
    "<mask> <mask>",
    "<mask><mask>",
    "the<mask>dog",
    "  <mask> the red house <mask>",
    "<MASK> < mask > mask",
]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def with_mask(request: pytest.FixtureRequest, sentences: list[str]) -> Tokenizer:
    return train_tokenizer(sentences, 64, request.param, has_mask=True)


def test_it_has_the_id_after_the_special_ones(with_mask: Tokenizer) -> None:
    assert with_mask.special_ids == SpecialIds(mask=4)
    assert with_mask.pieces([4]) == [MASK_PIECE]
    assert with_mask.vocab_size == 64


def test_only_a_vocabulary_that_asks_for_it_has_it(sentences: list[str]) -> None:
    plain = train_tokenizer(sentences, 64)
    assert plain.special_ids.mask is None
    assert MASK_PIECE not in plain.pieces(range(64))


@pytest.mark.parametrize(("text", "masks"), list(zip(TEXTS, (1, 1, 2, 2, 1, 2, 0), strict=True)))
def test_a_text_that_holds_it_is_read_with_it(with_mask: Tokenizer, text: str, masks: int) -> None:
    assert with_mask.encode([text])[0].count(4) == masks


def test_graphs_read_it_as_plain_python_does(with_mask: Tokenizer) -> None:
    reader, rows = GraphTokenizer(with_mask.model), with_mask.encode(TEXTS)
    assert reader.special_ids == with_mask.special_ids
    assert reader.tokenize(tf.constant(TEXTS)).to_list() == rows
    texts = reader.detokenize(tf.ragged.constant(rows, tf.int32)).numpy()
    assert [text.decode("utf-8") for text in texts] == with_mask.decode(rows)


def test_texts_without_it_keep_their_words(with_mask: Tokenizer, sentences: list[str]) -> None:
    assert with_mask.decode(with_mask.encode(sentences)) == sentences
    assert not any(4 in row for row in with_mask.encode(sentences))


def test_decoding_drops_it(with_mask: Tokenizer) -> None:
    [row] = with_mask.encode(["the old dog"])
    assert with_mask.decode([[*row, 4]]) == ["the old dog"]


def test_text_may_hold_it_but_no_search_generates_it() -> None:
    ids = SpecialIds(mask=4)
    assert 4 not in ids.added_to_text
    assert 4 in ids.never_generated
    assert 4 not in ids.text_ids(10)


def test_it_comes_back_from_a_config_and_is_left_out_without() -> None:
    assert SpecialIds(**SpecialIds(mask=4).to_dict()) == SpecialIds(mask=4)
    assert "mask" not in SpecialIds().to_dict()
    with pytest.raises(ValueError, match="must be different ids, got 0, 1, 2, 3, 3"):
        SpecialIds(mask=3)


def test_a_file_keeps_it(with_mask: Tokenizer, tmp_path) -> None:
    with_mask.save(tmp_path / "tokenizer.model")
    assert Tokenizer.load(tmp_path / "tokenizer.model").special_ids.mask == 4
