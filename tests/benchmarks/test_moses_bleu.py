"""The tokenized, lowercased BLEU of older papers."""

import gzip
import sys
from pathlib import Path

import moses_bleu as script
import pytest
from moses_bleu import moses_bleu, moses_tokens, read_lines


def test_case_and_kinds_of_quotes_do_not_count() -> None:
    assert moses_bleu(["„Ein HUND“, sagt er."], ['"ein Hund", sagt er.'], "de") == pytest.approx(
        100
    )


def test_punctuation_is_a_token() -> None:
    assert moses_tokens(["Ein Hund, der läuft."], "de") == ["ein hund , der läuft ."]


def test_another_word_costs() -> None:
    same = "ein Hund läuft über die grüne Wiese ."
    assert 0 < moses_bleu([same.replace("grüne", "rote")], [same], "de") < 90


def test_files_may_be_compressed(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a\nb\n", encoding="utf-8")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"a\nb\n"))
    assert read_lines(tmp_path / "plain") == read_lines(tmp_path / "packed.gz") == ["a", "b"]


def test_files_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="as many lines, got 2 and 1"):
        moses_bleu(["a", "b"], ["a"], "de")


@pytest.mark.parametrize(
    ("reference", "message"),
    [("none", "moses_bleu.py: .*No such file.*none"), ("two", "moses_bleu.py: .* got 1 and 2")],
)
def test_files_that_cannot_be_compared_end_it_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reference: str, message: str
) -> None:
    (tmp_path / "one").write_text("a\n", encoding="utf-8")
    (tmp_path / "two").write_text("a\nb\n", encoding="utf-8")
    words = ["moses_bleu.py", str(tmp_path / "one"), str(tmp_path / reference)]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit, match=message):
        script.main()
