"""`translate-file`: a file goes in and comes out translated; what cannot be done is said first."""

import os
import shlex
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
COMMAND = "keras_transformer.cli.commands.translate_file"
PO = 'msgid ""\nmsgstr "Language: de\\n"\n\nmsgid "alpha %s"\nmsgstr ""\n'
# The file of each command of docs/files.md.
FILES = {
    "empty.json": "{}",
    "de.po": PO,
    "program.pot": PO,
    "old.po": PO.replace('%s"\nmsgstr ""', '%s"\nmsgstr "x %s"'),
}
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
    shutil.copytree(ROOT / "tests" / "fixtures" / "files", tmp_path, dirs_exist_ok=True)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_docs_runs(line: str, folder: Path, run_cli) -> None:
    words = shlex.split(line)[1:]
    result = run_cli(*words)
    assert result.code == 0, result.err
    assert (folder / words[3]).read_bytes() != (folder / words[2]).read_bytes()
    assert result.out.startswith(f"wrote {words[3]}: ")


def test_a_lost_span_is_told(folder: Path, run_cli) -> None:
    result = run_cli("translate-file", "exported/l10n", "de.po", "out.po")
    assert "low confidence in 1 of 1 texts: lines 4" in result.err
    assert "# low confidence\n#, fuzzy\nmsgid" in (folder / "out.po").read_text("utf-8")


def test_an_interrupted_job_goes_on(folder: Path, run_cli, monkeypatch) -> None:
    arguments = ["translate-file", "exported/l10n", "de.po", "out.po"]
    with monkeypatch.context() as patched:
        patched.setattr(f"{COMMAND}.write_bytes", interrupt)
        assert run_cli(*arguments).code == 130
    assert not (folder / "out.po").exists()
    with monkeypatch.context() as patched:
        patched.setattr(f"{COMMAND}.SpanTranslator.__call__", interrupt)
        result = run_cli(*arguments)
    assert "goes on with 1 texts" in result.err
    assert result.code == 0 and (folder / "out.po").exists()
    assert [path.name for path in folder.iterdir() if "unfinished" in path.name] == []


def test_nothing_is_kept_beside_a_pipe(folder: Path, run_cli, monkeypatch) -> None:
    os.mkfifo(folder / "pipe.po")
    monkeypatch.setattr(f"{COMMAND}.write_bytes", interrupt)
    assert run_cli("translate-file", "exported/l10n", "de.po", "pipe.po").code == 130
    assert list(folder.glob(".*")) == []


def interrupt(*arguments: object) -> None:
    raise KeyboardInterrupt


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
        (["empty.json", "out.json"], "empty.json holds no text that could be translated"),
        (["de.docm", "out"], "has none of the endings .po, .pot, .xlf"),
        (["de.po", "out.po", "--update", "none"], "--update expects one of"),
    ],
)
def test_what_cannot_be_done_is_refused(
    arguments: list[str], error: str, folder: Path, run_cli
) -> None:
    result = run_cli("translate-file", "exported/l10n", *arguments)
    assert result.code in (1, 2)
    assert error in result.err
    assert not (folder / "out.po").exists()


def test_similar_texts_help(folder: Path, run_cli) -> None:
    known = PO.replace('alpha %s"\nmsgstr ""', 'the red dog runs"\nmsgstr "alpha beta"')
    (folder / "known.po").write_text(known)
    (folder / "new.po").write_text(PO.replace("alpha %s", "the red dog sleeps"))
    arguments = ["translate-file", "exported/l10n", "new.po", "out.po", "--memory", "known.po"]
    assert "similar" not in run_cli(*arguments).out
    helped = run_cli(*arguments, "--fuzzy").out
    assert "0 of them by the memory, 1 with a similar text of it" in helped
    assert "fuzzy match 75 %: alpha beta\n" in (folder / "out.po").read_text("utf-8")
    assert "similar" not in run_cli(*arguments, "--fuzzy", "80").out


def test_similar_texts_need_a_memory(folder: Path, run_cli) -> None:
    result = run_cli("translate-file", "exported/l10n", "de.po", "out.po", "--fuzzy")
    assert result.code == 1 and "--fuzzy needs" in result.err and "memory" in result.err
