"""TextStream: joined pieces equal the text decoded at once, and nothing waits without need."""

import io
import random
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.text.subwords.interface import stream_text
from keras_transformer.text.subwords.sentencepiece_stream import SentencePieceStream
from keras_transformer.text.tokenizer import train_tokenizer

TEXTS = [
    "a small house stands by the river",
    "the red dog runs to the house",
    "hello, how are you today? the river is blue and the birds are small",
    "¿dónde está la casa roja? über den großen Fluß 家は赤い",
]
SPECIAL_IDS = frozenset(range(4))
KINDS = ("unigram", "bpe", "char")
MODELS = [(kind, fallback) for kind in KINDS for fallback in (False, True)]


@pytest.fixture(scope="module")
def processors() -> dict[Any, sentencepiece.SentencePieceProcessor]:
    """A model of each kind, and one each that keeps and that ends words with spaces."""
    found = {}
    for kind, fallback in MODELS:
        size = 56 + 256 * fallback
        trained = train_tokenizer(TEXTS, size, kind, byte_fallback=fallback)
        found[kind, fallback] = load(trained.model)
    found["spaces kept"] = train(remove_extra_whitespaces=False)
    found["no prefix"] = train(remove_extra_whitespaces=False, add_dummy_prefix=False)
    found["suffix"] = train(treat_whitespace_as_suffix=True)
    return found


def load(model: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(model)
    return processor


def train(**options: Any) -> sentencepiece.SentencePieceProcessor:
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS),
        model_writer=writer,
        vocab_size=320,
        model_type="bpe",
        byte_fallback=True,
        minloglevel=2,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        **options,
    )
    return load(writer.getvalue())


def bytes_of(processor: sentencepiece.SentencePieceProcessor, data: bytes) -> list[int]:
    return [processor.piece_to_id(f"<0x{byte:02X}>") for byte in data]


@settings(max_examples=80)
@given(seed=st.integers(0, 2**32 - 1), bare=st.booleans())
@pytest.mark.parametrize("model", [*MODELS, "spaces kept", "no prefix", "suffix"], ids=str)
def test_random_ids_give_the_text_decoded_at_once(
    processors: Any, model: Any, seed: int, bare: bool
) -> None:
    processor, draw = processors[model], random.Random(seed)
    skipped = frozenset() if bare else SPECIAL_IDS
    # What is hard must be common: spaces, specials, and bytes that make characters or nearly.
    words = [[processor.piece_to_id("▁")], [1], [draw.randrange(4)]]
    if processor.is_byte(4):
        words += [bytes_of(processor, draw.choice("€é🕐\0 a").encode()[: draw.randint(1, 4)])]
        words += [[draw.randrange(4, 260)], bytes_of(processor, b"\xed\xa0\x80")]
    words += [[draw.randrange(len(processor))] for _ in range(4)]
    ids = [token for _ in range(draw.randint(0, 25)) for token in draw.choice(words)]
    expected = processor.decode([token for token in ids if token not in skipped])
    pieces = list(stream_text(SentencePieceStream(processor, skipped), ids))
    assert "".join(pieces) == expected
    assert all(pieces)


@given(text=st.text(max_size=30))
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_encoded_text_gives_the_text_decoded_at_once(
    processors: Any, model: Any, text: str
) -> None:
    ids = processors[model].encode(text)
    assert "".join(stream_text(SentencePieceStream(processors[model]), ids)) == processors[
        model
    ].decode(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_leave_with_the_token_that_settles_them(processors: Any, kind: str) -> None:
    processor = processors[kind, True]
    stream = SentencePieceStream(processor, SPECIAL_IDS)
    ids = [processor.piece_to_id(piece) for piece in ("▁", "t", "h", "▁")]
    euro, lone = bytes_of(processor, "€".encode()), bytes_of(processor, b"\xc3")
    found = [stream.add(token) for token in (*ids, *euro, 3, *lone, ids[2], *lone)]
    assert found == ["", "t", "h", " ", "", "", "€", "", "", "\ufffdh", ""]
    assert stream.finish() == "\ufffd"
    assert stream.add(ids[1]) == "t"  # Finished: as new.


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        # A first byte waits only while some second byte could still be right.
        (b"\xc0\x80", ["\ufffd", "\ufffd"]),
        (b"\xff", ["\ufffd"]),
        (b"\x80", ["\ufffd"]),
        (b"\xed\xa0\x80", ["", "", "\ufffd\ufffd\ufffd"]),
        (b"\xf4\x90", ["", "\ufffd\ufffd"]),
        (b"\xe2\x82\x41", ["", "", "\ufffd\ufffdA"]),
        (b"\xe2\xe2\x82\xac", ["", "\ufffd", "", "€"]),
        (b"\xf0\x9f\x95\x90", ["", "", "", "🕐"]),
    ],
)
def test_broken_bytes_do_not_wait(processors: Any, data: bytes, expected: list[str]) -> None:
    processor = processors["bpe", True]
    stream = SentencePieceStream(processor)
    assert [stream.add(token) for token in bytes_of(processor, data)] == expected
    assert stream.finish() == ""


def test_unknown_tokens_have_a_surface_unless_skipped(processors: Any) -> None:
    processor = processors["bpe", False]
    assert list(stream_text(SentencePieceStream(processor), [1, 1])) == [" ⁇ ", " ⁇ "]
    assert list(stream_text(SentencePieceStream(processor, {1}), [1, 1])) == []


@pytest.mark.parametrize("token", [-1, 10_000])
def test_a_foreign_id_is_refused_and_changes_nothing(processors: Any, token: int) -> None:
    processor = processors["bpe", False]
    stream = SentencePieceStream(processor)
    letter = processor.piece_to_id("t")
    assert stream.add(letter) == "t"
    with pytest.raises(IndexError, match="out of range"):
        stream.add(token)
    assert stream.add(letter) == "t"
