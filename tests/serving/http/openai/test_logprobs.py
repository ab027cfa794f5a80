"""Tokens that spell parts of a character have the character's place and their own bytes."""

from keras_transformer.runtime.prompts import TokenScore, begun_within, places
from keras_transformer.serving.http.openai.logprobs import of_chat, of_completion

PARTS = [b"a", b"\xf0\x9f", b"\x8e\x89", b" b"]
SCORES = [TokenScore(part, -1.0, [(part, -1.0), (b"c", -2.0)]) for part in PARTS]


def test_parts_of_a_character_begin_where_it_does() -> None:
    found = of_completion(SCORES, 3)
    assert found["text_offset"] == [3, 4, 4, 5]
    assert found["tokens"] == ["a", r"bytes:\xf0\x9f", r"bytes:\x8e\x89", " b"]
    assert found["top_logprobs"][1] == {r"bytes:\xf0\x9f": -1.0, "c": -2.0}
    assert [begun_within(SCORES, length) for length in range(5)] == [0, 1, 3, 4, 4]


def test_bytes_that_are_no_character_have_a_place() -> None:
    parts = [b"a", b"\xef", b"K", b"", b"\xff", b"\xe2\x82", b"\xac", b"\xe2", b"\xe2b", b"\xf0"]
    assert b"".join(parts).decode(errors="replace") == "a\ufffdK\ufffd€\ufffd\ufffdb\ufffd"
    scores = [TokenScore(part, -1.0) for part in parts]
    assert places(scores, 3) == [3, 4, 5, 6, 6, 7, 7, 8, 9, 11, 12]


def test_bytes_of_a_chat_s_tokens_join_to_its_text() -> None:
    rows = of_chat(SCORES)["content"]
    assert bytes(byte for row in rows for byte in row["bytes"]).decode() == "a🎉 b"
    assert rows[1]["top_logprobs"][0]["bytes"] == [0xF0, 0x9F]
