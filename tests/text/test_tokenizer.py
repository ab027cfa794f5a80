"""Tokenizer: training, reading, special ids, files, errors."""

import io
import os
import re
import subprocess
import sys
from itertools import product

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.tokenizer import (
    Tokenizer,
    shared_special_ids,
    train_fitting_tokenizer,
    train_tokenizer,
)

BOS_ID, EOS_ID, PAD_ID, UNK_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad, SpecialIds.unk

BYTE_TOKENIZER = train_tokenizer(["ab ba a b abba"], 270, "bpe", byte_fallback=True)


def test_the_special_ids_are_the_first_four(tokenizer):
    assert tokenizer.pieces([PAD_ID, UNK_ID, BOS_ID, EOS_ID]) == ["<pad>", "<unk>", "<s>", "</s>"]


def test_training_sentences_come_back_unchanged(tokenizer, sentences):
    assert tokenizer.decode(tokenizer.encode(sentences)) == sentences


@pytest.mark.parametrize("text", ["a small house", "żółw, ☃ 家", "don't </s>", ""])
def test_pieces_spell_the_text_unknown_ones_too(tokenizer, text):
    pieces = tokenizer.split(text)
    assert not any(" " in piece for piece in pieces)
    assert tokenizer.join(pieces) == text
    assert tokenizer.join(["<s>", *pieces, "<unk>", "</s>", "<pad>"]) == text


def test_the_vocabulary_has_exactly_the_asked_size(sentences):
    for size in (60, 80):
        assert train_tokenizer(sentences, size, "bpe").vocab_size == size


def test_a_vocabulary_of_characters_has_each_or_the_most_frequent(sentences):
    letters = {letter for sentence in sentences for letter in sentence if letter != " "}
    whole = train_fitting_tokenizer(sentences, None, "char")
    assert {*whole.pieces(range(whole.vocab_size))[4:]} == {*letters, "▁"}
    assert whole.split("a house") == ["▁", "a", "▁", "h", "o", "u", "s", "e"]
    few = train_tokenizer(sentences, 9, "char")
    assert few.vocab_size == 9
    assert {*few.pieces(range(4, 9))} < {*letters, "▁"}


def test_a_long_text_that_repeats_itself_has_a_vocabulary_without_bytes():
    # Long enough for bytes, which leave no room for so few pieces.
    fitting = train_fitting_tokenizer(["the red dog", "a cat"] * 20_000, None)
    assert fitting.vocab_size < 30
    assert fitting.decode(fitting.encode(["the cat"])) == ["the cat"]


def test_characters_that_a_large_vocabulary_lacks_are_bytes(sentences):
    spelled = train_tokenizer(sentences, 2000, "char")
    assert spelled.vocab_size < 400
    assert spelled.decode(spelled.encode(["a 家"])) == ["a 家"]


@pytest.mark.parametrize("model_type", ["unigram", "bpe", "char"])
def test_the_same_sentences_give_the_same_model(sentences, model_type):
    first = train_tokenizer(sentences, 60, model_type)
    assert train_tokenizer(iter(sentences), 60, model_type).model == first.model


def test_a_sampled_corpus_gives_the_same_model_again(sentences):
    whole = train_tokenizer(sentences, 60, "bpe")
    sampled = train_tokenizer(sentences, 60, "bpe", max_sentences=110)
    assert sampled.pieces(range(60)) != whole.pieces(range(60))
    again = train_tokenizer(sentences, 60, "bpe", max_sentences=110)
    assert again.model == sampled.model


def test_a_limit_that_is_not_reached_changes_no_piece(sentences):
    whole = train_tokenizer(sentences, 60, "bpe")
    limited = train_tokenizer(sentences, 60, "bpe", max_sentences=len(sentences))
    assert limited.pieces(range(60)) == whole.pieces(range(60))


def test_encode_adds_no_bos_and_no_eos(tokenizer, sentences):
    for row in tokenizer.encode(sentences):
        assert row
        assert not {PAD_ID, UNK_ID, BOS_ID, EOS_ID} & set(row)


def test_names_of_special_pieces_in_a_text_are_plain_text():
    rows = BYTE_TOKENIZER.encode(["<s>", "</s>", "<pad>", "<unk>"])
    assert not {PAD_ID, UNK_ID, BOS_ID, EOS_ID} & {token for row in rows for token in row}
    assert BYTE_TOKENIZER.decode(rows) == ["<s>", "</s>", "<pad>", "<unk>"]


def test_decode_drops_special_ids_wherever_they_stand(tokenizer, sentences):
    [row] = tokenizer.encode(sentences[:1])
    framed = [BOS_ID, *row[:2], UNK_ID, *row[2:], EOS_ID, PAD_ID, PAD_ID]
    assert tokenizer.decode([framed]) == sentences[:1]


def test_empty_and_blank_texts_have_no_ids(tokenizer):
    assert tokenizer.encode(["", "  ", "\n", "\t\u3000"]) == [[], [], [], []]
    assert tokenizer.decode([[], [EOS_ID]]) == ["", ""]
    assert tokenizer.encode([]) == []


def test_line_breaks_inside_a_text_become_spaces(tokenizer):
    assert tokenizer.encode(["the old\nman"]) == tokenizer.encode(["the old man"])


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_with_byte_fallback_no_text_is_unknown(text):
    [row] = BYTE_TOKENIZER.encode([text])
    assert UNK_ID not in row
    normalized = sentencepiece.SentencePieceNormalizer(rule_name="nmt_nfkc").normalize(text)
    # The word mark of SentencePiece itself is the one character that reads back as a space.
    expected = re.sub(" +", " ", normalized.replace("\u2581", " ")).strip(" ")
    assert re.sub(" +", " ", BYTE_TOKENIZER.decode([row])[0]).strip(" ") == expected


def test_bytes_stand_in_from_a_vocabulary_of_1024_on():
    words = ["".join(letters) for letters in product("abcdefgh", "ijklmnop", "qrstuvwx", "yz12")]
    assert UNK_ID in train_tokenizer(words, 1023, "bpe").encode(["λ"])[0]
    assert UNK_ID not in train_tokenizer(words, 1024, "bpe").encode(["λ"])[0]


def test_save_and_load_keep_the_model(tokenizer, tmp_path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"an older file")
    tokenizer.save(path)
    assert Tokenizer.load(path).model == tokenizer.model
    assert os.listdir(tmp_path) == ["tokenizer.model"]


def test_a_failed_save_leaves_the_old_file_and_no_other(tokenizer, tmp_path, monkeypatch):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"an older file")

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        tokenizer.save(path)
    assert path.read_bytes() == b"an older file"
    assert os.listdir(tmp_path) == ["tokenizer.model"]


def test_the_saved_model_is_readable_by_the_sentencepiece_package_alone(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.model")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "tokenizer.model"))
    assert processor.encode("a small dog") == tokenizer.encode(["a small dog"])[0]


def test_a_missing_model_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no tokenizer model at .*absent.model"):
        Tokenizer.load(tmp_path / "absent.model")


def test_a_file_that_is_no_model_is_named(tmp_path):
    (tmp_path / "odd.model").write_bytes(b"text")
    with pytest.raises(ValueError, match=r"odd\.model: model is not a SentencePiece model"):
        Tokenizer.load(tmp_path / "odd.model")


def test_a_path_in_place_of_model_bytes_is_refused():
    with pytest.raises(TypeError, match=r"got str; read a file with Tokenizer\.load"):
        Tokenizer("tokenizer.model")  # type: ignore[arg-type]


def spm_model(sentences, *ids):
    """A model as `spm_train` makes it with these pad, unk, bos and eos ids; -1 for none."""
    writer = io.BytesIO()
    names = ("pad_id", "unk_id", "bos_id", "eos_id")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences),
        model_writer=writer,
        vocab_size=60,
        minloglevel=2,
        **dict(zip(names, ids, strict=True)),
    )
    return writer.getvalue()


@pytest.mark.parametrize("ids", [(3, 0, 1, 2), (0, 3, 2, 1), (59, 0, 1, 2)], ids=str)
def test_special_ids_may_stand_in_any_order(sentences, ids):
    tokenizer = Tokenizer(spm_model(sentences, *ids))
    pad, unk, bos, eos = ids
    assert tokenizer.special_ids == SpecialIds(pad=pad, unk=unk, bos=bos, eos=eos)
    assert tokenizer.vocab_size == 60
    [row] = tokenizer.encode(sentences[:1])
    assert not tokenizer.special_ids.added_to_text & set(row)
    plain = tokenizer.decode([row])
    assert tokenizer.decode([[bos, *row[:2], pad, *row[2:], eos, pad]]) == plain


def test_a_model_without_a_pad_gets_one_after_its_last_piece(sentences):
    tokenizer = Tokenizer(spm_model(sentences, -1, 0, 1, 2))
    assert tokenizer.special_ids == SpecialIds(pad=60, unk=0, bos=1, eos=2)
    assert tokenizer.vocab_size == 61
    assert tokenizer.pieces([60, 1]) == ["<pad>", "<s>"]
    [row] = tokenizer.encode(sentences[:1])
    assert tokenizer.decode([[*row, 60]]) == tokenizer.decode([row])


def test_decoding_starts_with_the_end_token_in_a_vocabulary_without_a_start(sentences):
    tokenizer = Tokenizer(spm_model(sentences, 0, 2, -1, 1))
    assert tokenizer.special_ids == SpecialIds(pad=0, unk=2, bos=None, eos=1, decoder_start=1)


def test_a_model_without_an_end_token_is_refused(sentences):
    with pytest.raises(ValueError, match="no end-of-sentence piece: train it without --eos_id=-1"):
        Tokenizer(spm_model(sentences, 0, 1, 2, -1))


def test_sides_of_different_special_ids_are_refused(sentences):
    one, two = (Tokenizer(spm_model(sentences, *ids)) for ids in ((3, 0, 1, 2), (0, 1, 2, 3)))
    with pytest.raises(ValueError, match="pad=3.*pad=0.*train both with the same --pad_id"):
        shared_special_ids(one, two)
    assert shared_special_ids(one, one) == one.special_ids


@pytest.mark.parametrize("token", [-1, 60])
def test_decode_names_an_id_outside_the_vocabulary(sentences, token):
    small = train_tokenizer(sentences, 60)
    with pytest.raises(ValueError, match=f"0 to 59 .* got {token}"):
        small.decode([[5], [5, token]])


def test_one_bare_string_is_refused(tokenizer):
    with pytest.raises(TypeError, match="texts must be a sequence of strings, got one str"):
        tokenizer.encode("the old man")
    with pytest.raises(TypeError, match="sentences must be an iterable of strings, got one str"):
        train_tokenizer("the old man", 80)


def test_encode_names_the_text_it_cannot_take(tokenizer):
    with pytest.raises(TypeError, match="texts must be strings, got int at index 1"):
        tokenizer.encode(["a", 3])
    with pytest.raises(ValueError, match="lone surrogate at index 1, character 2"):
        tokenizer.encode(["a", "b \ud800"])


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
@pytest.mark.parametrize("byte_fallback", [False, True])
@pytest.mark.parametrize(
    ("vocab_size", "message", "bound"),
    [(5000, "too large", r"at most (\d+)"), (20, "too small", r"at least (\d+)")],
)
def test_a_vocabulary_size_out_of_reach_names_the_bound_which_works(
    sentences, model_type, byte_fallback, vocab_size, message, bound
):
    def train(size):
        return train_tokenizer(sentences, size, model_type, byte_fallback=byte_fallback)

    with pytest.raises(ValueError, match=f"vocab_size={vocab_size} is {message}") as caught:
        train(vocab_size)
    size = int(re.search(bound, str(caught.value))[1])
    assert train(size).vocab_size == size


def test_vocab_size_must_leave_room_for_pieces(sentences):
    with pytest.raises(ValueError, match="vocab_size must be at least 5, got 4"):
        train_tokenizer(sentences, 4)


def test_an_unknown_model_type_is_refused(sentences):
    with pytest.raises(ValueError, match="got 'word'"):
        train_tokenizer(sentences, 80, "word")


@pytest.mark.parametrize("texts", [[], ["", " \n"]])
def test_training_without_text_says_that_the_corpus_is_empty(texts):
    with pytest.raises(ValueError, match="the corpus is empty"):
        train_tokenizer(texts, 80)


def test_training_names_the_sentence_it_cannot_take():
    with pytest.raises(TypeError, match="sentences must be strings, got int at index 1"):
        train_tokenizer(["a", 3], 80)
    with pytest.raises(ValueError, match="lone surrogate at index 0"):
        train_tokenizer(["\ud800"], 80)


def test_an_error_while_reading_sentences_keeps_its_type():
    def broken():
        yield "a"
        raise FileNotFoundError("shard 2 is missing")

    with pytest.raises(FileNotFoundError, match="shard 2 is missing"):
        train_tokenizer(broken(), 80)


def test_training_prints_nothing(capfd):
    train_tokenizer(["a b c d e f g"], 12)
    assert capfd.readouterr() == ("", "")


def test_the_plain_reader_imports_no_tensorflow():
    code = "import sys, keras_transformer.text.tokenizer; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
