"""Completion at a Tab: commands, flags, their values, and what asks for them in a shell."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer.cli import COMMANDS, module_of
from keras_transformer.cli.flags import completion

MODULES = {name: module_of(name) for name in COMMANDS}


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["tr"], ["train", "translate", "translate-file"]),
        (["--ver"], ["--version"]),
        (["nonsense", ""], []),
        (["train", "--pre"], ["--prepared", "--preset"]),
        (["train", "--preset", "ti"], ["tiny"]),
        (["train", "--preset", "tiny", "--data", "t"], ["tfds", "tmx", "tsv"]),
        (["train", "--output", ""], []),
        (["export", "run", "--format", "=", "s"], ["saved_model"]),
        (["export", "run", "--target", "="], ["fastest", "native", "onnxruntime", "portable"]),
        # Shells other than bash leave a flag and its value one word.
        (["train", "--preset=ti"], ["--preset=tiny"]),
        (["export", "run", "--format=saved_model", "--target=p"], ["--target=portable"]),
        (["plot", "a"], ["alignment", "attention"]),
        (["plot", "attention", "--pa"], ["--part"]),
        (["plot", "attention", "run", "--part", ""], ["cross", "decoder", "encoder"]),
        (["plot", "nonsense", "--"], []),
        (["translate", ""], []),
    ],
)
def test_what_a_word_may_become(words: list[str], found: list[str]) -> None:
    assert completion.complete(words, MODULES) == found


def test_every_preset_is_offered() -> None:
    found = completion.complete(["train", "--preset", ""], MODULES)
    assert {"tiny", "base", "bert-tiny", "gpt2-tiny"} <= set(found)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_offers_its_flags(command: str) -> None:
    words = [command, "curves"] if command == "plot" else [command]
    assert "--help" in completion.complete([*words, "--"], MODULES)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The command, in a directory of its own."""
    path = tmp_path / "keras-transformer"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m keras_transformer "$@"\n')
    path.chmod(0o755)
    return path


def run(*command: str) -> list[str]:
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]} on this machine")
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_bash_and_zsh_complete_with_their_scripts(shell: str, program: Path) -> None:
    # The words from 0 on, as completion of both shells has them.
    script = f"""
        eval "$({program} --completion {shell})"
        [ {shell} = bash ] || setopt ksharrays
        COMP_WORDS=(keras-transformer train --preset ti) COMP_CWORD=3
        _keras_transformer {program}
        echo "${{COMPREPLY[*]}}"
        [ {shell} = bash ] && complete -p keras-transformer || echo "${{_comps[keras-transformer]}}"
    """
    flags = ["-f"] if shell == "zsh" else []
    shown, registered = run(shell, *flags, "-c", script)
    assert shown == "tiny"
    assert "-F _keras_transformer" in registered or registered.startswith("_bash_complete")


def test_fish_completes_with_its_script(program: Path) -> None:
    script = f"""
        set -x PATH {program.parent} $PATH
        keras-transformer --completion fish | source
        complete -C 'keras-transformer train --preset ti'
        complete -C 'keras-transformer export run --target=n'
    """
    # Files are offered, too.
    assert {"tiny", "--target=native"} <= set(run("fish", "--no-config", "-c", script))


def test_an_unknown_shell_is_refused(run_cli) -> None:
    result = run_cli("--completion", "csh")
    assert (result.code, result.out) == (2, "")
    assert "unknown shell 'csh', expected one of bash, zsh, fish" in result.err
