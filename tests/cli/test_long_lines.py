"""The flags of lines: terms that are kept, beside those of a file."""

from pathlib import Path

from keras_transformer.cli.long_lines import LineOptions
from keras_transformer.markup.terms import Term


def test_terms_to_keep_stand_beside_those_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("file\tDatei\n", "utf-8")
    lines = LineOptions(glossary=tmp_path / "terms.tsv", keep=("Ink scape",))
    kept, listed = lines.limits["glossary"].terms
    assert (kept, listed) == (Term("Ink scape", "Ink scape", has_case=True), Term("file", "Datei"))
    assert LineOptions(keep=("Inkscape",)).limits["glossary"] is not None
    assert LineOptions().limits["glossary"] is None
