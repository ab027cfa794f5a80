"""README.md: its commands exist with their flags and say what time they take, its Python runs."""

import ast
import doctest
import re
import shlex
import subprocess
import sys
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from keras_transformer.cli import COMMANDS, module_of
from keras_transformer.distribution import DISTRIBUTION, install_command

ROOT = Path(__file__).resolve().parents[1]
# What the blocks of docs/translation.md have found.
SHOW = r'print("\n", *(hypothesis.text for hypothesis in best[0]), sep="\t")'
DOCUMENTS = (
    "README.md",
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))),
)


def blocks(language: str, documents: tuple[str, ...] = DOCUMENTS) -> list[str]:
    """Returns the code blocks of a language in the README and the docs."""
    text = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in documents)
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def command_lines(program: str, documents: tuple[str, ...] = DOCUMENTS) -> list[list[str]]:
    """Returns the arguments of each shell line that calls a program."""
    found = []
    for block in blocks("bash", documents):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words and words[0] == program:
                found.append(words[1:])
    return found


def without_redirections(words: list[str]) -> list[str]:
    """Drops `< file`, `> file` and everything from a pipe on."""
    words = words[: words.index("|")] if "|" in words else words
    kept, skip = [], False
    for word in words:
        if not skip and word not in ("<", ">"):
            kept.append(word)
        skip = word in ("<", ">")
    return kept


def test_the_readme_is_read_in_three_minutes() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 900


def test_the_readme_leads_with_the_two_commands() -> None:
    first = blocks("bash", ("README.md",))
    assert [line.split("#")[0].split() for line in first[0].splitlines()] == [
        ["make", "demo"],
        ["make", "test"],
    ]


@pytest.mark.parametrize("words", command_lines("keras-transformer"), ids=" ".join)
def test_every_shown_command_parses(words: list[str]) -> None:
    command, *arguments = without_redirections(words)
    assert command in COMMANDS
    if not {"--help", "--help-all"} & {*arguments}:
        import_module(module_of(command)).build_parser().parse(arguments)


def test_the_short_help_of_training_has_the_flags_of_the_first_pages(capsys) -> None:
    pages = ("README.md", "docs/start.md", "docs/translation.md")
    lines = command_lines("keras-transformer", pages)
    flags = {word for words in lines if words[0] == "train" for word in words if "--" in word}
    assert len(flags) > 8
    with pytest.raises(SystemExit):
        import_module(module_of("train")).build_parser().parse(["--help"])
    shown = capsys.readouterr().out
    assert flags <= {*shown.split()} and len(shown.splitlines()) < 50


@pytest.mark.parametrize("words", command_lines("make"), ids=" ".join)
def test_every_shown_make_target_exists(words: list[str]) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE)
    assert words[0] in targets


def test_every_shown_script_exists() -> None:
    scripts = [words[0] for words in command_lines("python") if not words[0].startswith("-")]
    assert [script for script in scripts if not (ROOT / script).is_file()] == []


def test_the_shown_message_is_in_the_catalogue_that_is_translated() -> None:
    [shown] = blocks("po", ("README.md",))
    catalogue = (ROOT / "examples" / "es.po").read_text(encoding="utf-8")
    assert shown.splitlines()[0] + '\nmsgstr ""' in catalogue


@pytest.mark.parametrize("words", command_lines("pip"), ids=" ".join)
def test_every_shown_install_is_of_this_package(words: list[str]) -> None:
    assert words[0] == "install"
    package, _, extras = words[-1].removesuffix("]").partition("[")
    assert package in (".", DISTRIBUTION)
    declared = metadata.metadata(DISTRIBUTION).get_all("Provides-Extra")
    assert set(filter(None, extras.split(","))) <= set(declared)


def test_tensorflow_without_gpus_is_of_the_same_versions() -> None:
    [words] = command_lines("uv")
    shown = Requirement(words[-1])
    declared = [Requirement(text) for text in metadata.requires(DISTRIBUTION) or []]
    assert shown.name == "tensorflow-cpu"
    assert {shown.specifier} == {one.specifier for one in declared if one.name == "tensorflow"}


def test_an_extra_is_added_without_looking_for_the_package_itself() -> None:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index"]
    wanted = shlex.split(install_command("cli"))[-1]
    subprocess.run([*command, wanted], check=True, capture_output=True)


@pytest.mark.parametrize("block", blocks("python"))
def test_every_shown_import_resolves(block: str) -> None:
    program = doctest.script_from_examples(block) if block.startswith(">>>") else block
    imported = [node for node in ast.walk(ast.parse(program)) if isinstance(node, ast.ImportFrom)]
    for node in imported:
        module = import_module(node.module)
        assert [alias.name for alias in node.names if not hasattr(module, alias.name)] == []


def test_every_command_of_the_readme_says_how_long_it_takes() -> None:
    lines = "".join(blocks("bash", ("README.md",))).replace("\\\n", " ").splitlines()
    commands = [
        line for line in lines if line and not line.startswith(("pip ", "echo ", "source "))
    ]
    time = re.compile(r"#.*\d+ (hours?|minutes?|seconds?|milliseconds?)\b")
    assert [line for line in commands if not time.search(line)] == []


@pytest.mark.usefixtures("few_updates")
def test_the_python_of_the_readme_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a corpus so small that two updates are an epoch, and then that of docs/translation.md."""
    [first] = blocks("python", ("README.md",))
    for whole, part in (
        ("demo_corpus()", "demo_corpus(100)"),
        ("vocab_size=1000", "vocab_size=120"),
        ("epochs=3", "max_steps=1"),
    ):
        assert first.count(whole) == 1
        first = first.replace(whole, part)
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    for block in (first, *blocks("python", ("docs/translation.md",))):
        exec(block, found)
    assert "\n['" in capsys.readouterr().out
    assert [len(kind[0]) for kind in (found["best"], found["samples"])] == [4, 3]


@pytest.mark.exhaustive
def test_the_python_of_the_readme_runs_and_translates(tmp_path: Path) -> None:
    """As it stands, which takes a minute, and on what it leaves that of docs/translation.md.

    In a process of its own, as this one does without what makes long training fast.
    """
    [first] = blocks("python", ("README.md",))
    others = blocks("python", ("docs/translation.md",))
    program = "\n".join([first, 'print("THE OTHERS")', *others, SHOW])
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown, shown_later = done.stdout.split("THE OTHERS\n")
    [promised] = re.findall(r"^# (\[.*\])$", first, flags=re.MULTILINE)
    assert shown.splitlines()[-1] == promised
    assert "Hola, ¿cómo estás?" in shown_later.splitlines()[-1].split("\t")
