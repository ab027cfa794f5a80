"""`translate-file`: a file goes in and comes out translated; what cannot be done is said first."""

import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PO = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "alpha %s"\nmsgstr ""\n'
# The file of each command of docs/files.md.
FILES = {"de.po": PO, "program.pot": PO}
COMMANDS = [
    line
    for line in (ROOT / "docs" / "files.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("keras-transformer translate-file")
]


@pytest.fixture
def folder(tmp_path: Path, exported, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with an artefact and the files of the docs."""
    (tmp_path / "exported").mkdir()
    (tmp_path / "exported" / "l10n").symlink_to(exported.path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_docs_runs(line: str, folder: Path, run_cli) -> None:
    words = shlex.split(line)[1:]
    result = run_cli(*words)
    assert result.code == 0, result.err
    assert (folder / words[3]).read_text("utf-8") != FILES[words[2]]
    assert result.out.startswith(f"wrote {words[3]}: 1 texts translated")


def test_a_lost_span_is_told(folder: Path, run_cli) -> None:
    result = run_cli("translate-file", "exported/l10n", "de.po", "out.po")
    assert "low confidence in 1 of 1 texts: lines 4" in result.err
    assert "# low confidence\n#, fuzzy\nmsgid" in (folder / "out.po").read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["de.po", "./de.po"], "is the input, too: give the output another name"),
        (["de.po", "exported"], "cannot write exported: it is a directory already"),
        (["gone.po", "out.po"], "No such file or directory: 'gone.po'"),
        (
            ["exported/l10n/manifest.json", "out.po", "--format", "po"],
            "cannot be read as po: line 1",
        ),
        (["de.docm", "out"], "has none of the endings .po, .pot"),
        (["de.po", "out.po", "--update", "none"], "--update expects one of"),
        (["de.po", "out.po", "--markup", "auto"], "markup='auto' needs a model with slots"),
    ],
)
def test_what_cannot_be_done_is_refused(
    arguments: list[str], error: str, folder: Path, run_cli
) -> None:
    result = run_cli("translate-file", "exported/l10n", *arguments)
    assert result.code in (1, 2)
    assert error in result.err
    assert not (folder / "out.po").exists()
