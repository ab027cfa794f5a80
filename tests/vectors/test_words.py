"""Words of texts: punctuation apart, whatever the script, and nothing lost."""

import gzip
import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.vectors.words import Sentences, words_of


def test_marks_of_words_stay_and_symbols_stand_apart() -> None:
    assert words_of("हिन्दी, naïve-ish €5!") == ["हिन्दी", ",", "naïve", "-", "ish", "€", "5", "!"]


@given(st.text())
def test_no_letter_is_lost(text: str) -> None:
    whole = unicodedata.normalize("NFKC", text)
    assert "".join(words_of(text)) == "".join(whole.split())


def test_files_are_read_anew_in_every_pass(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text("A man.\n\n", "utf-8")
    packed.write_bytes(gzip.compress(b"THE END\n"))
    sentences = Sentences([plain, packed], lowercase=True)
    assert list(sentences) == list(sentences) == [["a", "man", "."], ["the", "end"]]
