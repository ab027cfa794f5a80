"""Vocabularies of a `tokenizer.json`: ids and texts are those of the package `tokenizers`."""

import json
import sys
from typing import Any

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.text.subwords.interface import stream_text, words_in_text
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.unknown_words import words_of

KINDS = ("wordpiece", "roberta", "gpt2", "albert")
TEXTS = [
    "A man in a red shirt isn't here, is he?",
    "  two  dogs\n\trun\r\n ",
    "Zwölf Boxkämpfer – 家は赤い 🕐👩‍👧 \u200b\u0301 \0 \x7f",
    "",
    " ",
    "a<mask>b <mask> [MASK] [SEP]</s> <s> <pad> [PAD] <|endoftext|> <unk> [UNK] [CLS]",
    "don't do not we've they're . , ' x ' !",
    "x" * 300,
]
FUZZED = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.lists(
    st.sampled_from([*TEXTS[5].split(), " ", "\n", "a man", "ß", "🕐", "##", "'s", "Ġ", "\uf8ff"])
).map("".join)


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def ours(kind: str, tokenizer_jsons: dict[str, bytes]) -> Tokenizer:
    return Tokenizer(tokenizer_jsons[kind])


@pytest.fixture(scope="module")
def theirs(kind: str, tokenizer_jsons: dict[str, bytes]) -> Any:
    return tokenizers.Tokenizer.from_str(tokenizer_jsons[kind].decode())


def has_names(text: str, tokenizer: Tokenizer) -> bool:
    """Whether a text spells a special id that no text gives."""
    names = tokenizer.pieces(sorted(tokenizer.special_ids.added_to_text))
    return any(name in text for name in names)


@pytest.mark.parametrize("text", TEXTS)
def test_ids_are_those_of_the_package(ours: Tokenizer, theirs: Any, text: str) -> None:
    [ids] = ours.encode([text])
    assert ours.special_ids.added_to_text.isdisjoint(ids)
    if not has_names(text, ours):
        assert ids == theirs.encode(text, add_special_tokens=False).ids


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_ids_of_fuzzed_texts_are_those_of_the_package(
    ours: Tokenizer, theirs: Any, data: st.DataObject
) -> None:
    text = data.draw(FUZZED)
    [ids] = ours.encode([text])
    assert ours.special_ids.added_to_text.isdisjoint(ids)
    if not has_names(text, ours):
        assert ids == theirs.encode(text, add_special_tokens=False).ids
    assert ours.decode([ids]) == [theirs.decode(ids, skip_special_tokens=True)]


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_texts_of_any_ids_are_those_of_the_package_and_of_a_stream(
    ours: Tokenizer, theirs: Any, data: st.DataObject
) -> None:
    size = ours.vocab_size
    ids = data.draw(st.lists(st.integers(0, size - 1), max_size=12))
    special = ours.special_ids.without_text
    [text] = ours.decode([ids])
    assert text == theirs.decode([one for one in ids if one not in special])
    pieces = list(stream_text(ours.subwords.stream(special), ids))
    assert all(pieces)
    assert "".join(pieces) == text


def test_a_crowd_has_the_same_ids_and_so_have_bytes(ours: Tokenizer) -> None:
    crowd = TEXTS * 20
    assert ours.encode(crowd) == [ours.encode([text])[0] for text in crowd]
    as_bytes = [text.encode() for text in TEXTS]
    assert ours.subwords.encode(as_bytes) == ours.encode(TEXTS)
    assert ours.subwords.encode([b"a \xff b"]) == ours.encode(["a \ufffd b"])


def test_bytes_give_every_text_back(tokenizer_jsons: dict[str, bytes]) -> None:
    for kind in ("roberta", "gpt2"):
        tokenizer = Tokenizer(tokenizer_jsons[kind])
        texts = [text for text in TEXTS if "<mask>" not in text]
        assert tokenizer.decode(tokenizer.encode(texts)) == texts


def test_a_character_waits_until_it_is_whole(tokenizer_jsons: dict[str, bytes]) -> None:
    tokenizer = Tokenizer(tokenizer_jsons["gpt2"])
    [ids] = tokenizer.encode(["🕐"])
    assert len(ids) == 4
    stream = tokenizer.subwords.stream()
    assert [stream.add(one) for one in ids] == ["", "", "", "🕐"]
    assert (stream.add(ids[0]), stream.finish(), stream.finish()) == ("", "\ufffd", "")


def test_special_ids_are_found_by_their_names(tokenizer_jsons: dict[str, bytes]) -> None:
    found = {kind: Tokenizer(tokenizer_jsons[kind]) for kind in KINDS}
    assert found["wordpiece"].special_ids == SpecialIds(pad=0, unk=1, bos=2, eos=3, mask=4)
    assert found["albert"].special_ids == SpecialIds(pad=0, unk=1, bos=2, eos=3, mask=4)
    assert found["roberta"].special_ids == SpecialIds(bos=0, pad=1, eos=2, unk=3, mask=4)
    gpt2, size = found["gpt2"], found["gpt2"].subwords.size
    assert gpt2.pieces([0]) == ["<|endoftext|>"]
    assert gpt2.special_ids == SpecialIds(pad=size, unk=None, bos=None, eos=0)
    assert gpt2.special_ids.decoder_start == 0
    assert gpt2.vocab_size == size + 1
    assert gpt2.pieces([size]) == ["<pad>"]


def test_a_piece_of_text_is_no_special_id(tokenizer_jsons: dict[str, bytes]) -> None:
    values = json.loads(tokenizer_jsons["gpt2"])
    values["model"]["vocab"]["<s>"] = len(values["model"]["vocab"])
    assert Tokenizer(json.dumps(values).encode()).special_ids.bos is None


def test_other_special_ids_are_kept_with_the_vocabulary(tokenizer_jsons: dict[str, bytes]) -> None:
    content = tokenizer_jsons["roberta"]
    found = Tokenizer(content).special_ids
    assert Tokenizer(content, special_ids=found).model == content
    ids = SpecialIds(bos=0, pad=1, eos=2, unk=3, mask=4, decoder_start=2)
    chosen = Tokenizer(content, special_ids=ids)
    assert chosen.special_ids == ids
    assert chosen.model != content
    again = Tokenizer(chosen.model)
    assert again.special_ids == ids
    assert again.encode(TEXTS) == Tokenizer(content).encode(TEXTS)


def test_added_tokens_behind_the_vocabulary_keep_their_ids(
    tokenizer_jsons: dict[str, bytes],
) -> None:
    theirs = tokenizers.Tokenizer.from_str(tokenizer_jsons["gpt2"].decode())
    theirs.add_special_tokens(["<s>", "<|im|>", "</s>"])
    theirs.add_tokens(["pianopark"])
    size = theirs.get_vocab_size()
    ours = Tokenizer(theirs.to_str().encode())
    assert ours.special_ids == SpecialIds(bos=size - 4, eos=size - 2, pad=size, unk=None)
    text = "a <|im|>pianopark<|endoftext|> is"
    [ids] = ours.encode([text])
    assert {0, size - 3, size - 1} < set(ids)
    assert ids == theirs.encode(text).ids
    assert ours.decode([ids]) == [theirs.decode(ids)] == ["a pianopark is"]
    assert "".join(stream_text(ours.subwords.stream(), ids)) == "a pianopark is"
    assert ours.decode(ours.encode(["a<s>b</s>"])) == ["a<s>b</s>"]


def test_a_special_id_that_a_whole_word_spells_is_left_out() -> None:
    words = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({"[UNK]": 0, "[SEP]": 1, "a": 2}, unk_token="[UNK]")
    )
    words.add_special_tokens(["[UNK]", "[SEP]"])
    words.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    words.decoder = tokenizers.decoders.WordPiece()
    tokenizer = Tokenizer(words.to_str().encode())
    assert tokenizer.encode(["a [SEP] a", "\uf8ff[SEP] a"]) == [[2, 0, 2], [2]]


def test_limits_and_padding_of_the_file_do_not_count(tokenizer_jsons: dict[str, bytes]) -> None:
    one = tokenizers.Tokenizer.from_str(tokenizer_jsons["wordpiece"].decode())
    one.enable_truncation(4)
    one.enable_padding(length=50)
    plain = Tokenizer(tokenizer_jsons["wordpiece"])
    assert Tokenizer(one.to_str().encode()).encode(TEXTS) == plain.encode(TEXTS)


def test_pieces_join_to_the_text_of_their_ids(ours: Tokenizer) -> None:
    for text in TEXTS[:3]:
        [ids] = ours.encode([text])
        assert ours.pieces(ids) == [
            piece if token != ours.special_ids.unk else ours.pieces([token])[0]
            for token, piece in zip(ids, ours.split(text), strict=True)
        ]
        if ours.special_ids.unk not in ids:
            assert ours.join(ours.split(text)) == ours.decode([ids])[0]


def test_unknown_pieces_are_spelled_as_in_the_text(tokenizer_jsons: dict[str, bytes]) -> None:
    tokenizer = Tokenizer(tokenizer_jsons["wordpiece"])
    assert tokenizer.split("a man ☃☃ man") == ["a", "man", "☃☃", "man"]
    unknown = [one.is_unknown for one in tokenizer.subwords.place("a man ☃☃ man")]
    assert unknown == [False, False, True, False]


def test_tokens_have_their_place_without_the_space_before(ours: Tokenizer) -> None:
    text = "  A man,  in\n the 家 "
    placed = ours.subwords.place(text)
    numbers = words_of([one.spelling for one in placed])
    found = ["", "", "", "", ""]
    for number, one in zip(numbers, placed, strict=True):
        found[number] += text[one.start : one.end]
    assert found[:4] == text.split()[:4]
    assert set(found[4]) == {"家"}


def test_a_mark_of_a_space_alone_has_no_letter(tokenizer_jsons: dict[str, bytes]) -> None:
    """Where no piece begins with it, as a small vocabulary of unigrams may have it."""
    values = json.loads(tokenizer_jsons["albert"])
    names = [*(one["content"] for one in values["added_tokens"]), "▁", "a", "man"]
    values["model"]["vocab"] = [[name, -1.0] for name in names]
    tokenizer, text = Tokenizer(json.dumps(values).encode()), "a  man a"
    placed = tokenizer.subwords.place(text)
    assert tokenizer.pieces(tokenizer.encode([text])[0]) == [*("▁", "a", "▁", "man", "▁", "a")]
    assert [text[one.start : one.end] for one in placed] == ["", "a", "", "man", "", "a"]
    assert [one.spelling for one in placed] == ["", "a", "", " man", "", " a"]


def test_a_word_alone_has_the_ids_that_it_has_in_a_text(ours: Tokenizer) -> None:
    words = ["A", "man", "isn't", "here."]
    alone = ours.encode(words_in_text(words, ours.subwords))
    assert [one for ids in alone for one in ids] == ours.encode([" ".join(words)])[0]


def test_words_begin_at_spaces_or_where_no_sign_says_otherwise(ours: Tokenizer) -> None:
    [ids] = ours.encode(["The men are menning"])
    starts = [ours.subwords.begins_word(token) for token in ids[1:]]
    assert starts.count(True) == 3
    assert len(starts) > 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{}", "not a tokenizer.json of a vocabulary"),
        (b'{"model": {"vocab": {"a": 0}, "type": "WordLevel"}}', "model is 'WordLevel' with the"),
        (
            b'{"model": {"vocab": {"a": 0}, "type": "BPE"}, "decoder": {"type": "Metaspace"}}',
            "give",
        ),
        (
            b'{"model": {"vocab": {"a": 0}, "type": "BPE"}, "decoder": {"type": "ByteLevel"}}',
            "none of its added tokens ends a text .* give special_ids",
        ),
    ],
)
def test_other_files_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Tokenizer(content)


def test_a_file_that_is_cut_short_is_refused(tokenizer_jsons: dict[str, bytes]) -> None:
    with pytest.raises(ValueError, match=r"not a tokenizer.json of a vocabulary \(500 bytes\)"):
        Tokenizer(tokenizer_jsons["gpt2"][:500])


def test_text_that_cannot_be_read_is_named(ours: Tokenizer) -> None:
    with pytest.raises(ValueError, match="lone surrogate at index 1"):
        ours.encode(["a", "\ud800"])
    with pytest.raises(TypeError, match="texts must be strings, got int at index 0"):
        ours.encode([3])  # type: ignore[list-item]


def test_there_is_one_segmentation(ours: Tokenizer) -> None:
    with pytest.raises(ValueError, match="subword sampling needs a SentencePiece model"):
        ours.sample(["a man"], 0.1, 0)


def test_without_the_package_the_error_says_how_to_install_it(
    tokenizer_jsons: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r'install it with `pip install ".*\[tokenizers\]"`'):
        Tokenizer(tokenizer_jsons["gpt2"])
