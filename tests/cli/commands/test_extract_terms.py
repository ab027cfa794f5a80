"""`extract-terms`: the terms of a file, as a list that `--glossary` reads."""

from pathlib import Path

from keras_transformer.markup.terms import Glossary

WORDS = {"file": "Datei", "image": "Bild", "folder": "Ordner"}


def test_terms_are_written_as_a_glossary_reads_them(run_cli, tmp_path: Path) -> None:
    lines = [
        f"{a} {one} %(mode)s\t{a} {other} %(mode)s\n" for a in "12" for one, other in WORDS.items()
    ]
    (tmp_path / "train.tsv").write_text("".join(lines * 2), "utf-8")
    found = run_cli("extract-terms", "--data", "tsv", "--train-tsv", tmp_path / "train.tsv")
    assert found.code == 0 and "3 terms, 3 of them with one translation" in found.err
    (tmp_path / "terms.tsv").write_text(found.out, "utf-8")
    assert {term[:2] for term in Glossary.read(tmp_path / "terms.tsv").terms} == {*WORDS.items()}


def test_text_without_terms_is_told_in_one_line(run_cli, tmp_path: Path) -> None:
    (tmp_path / "train.tsv").write_text("a\tb\n", "utf-8")
    found = run_cli("extract-terms", "--data", "tsv", "--train-tsv", tmp_path / "train.tsv")
    assert (found.code, found.err.count("\n")) == (1, 1) and "no term that is" in found.err
