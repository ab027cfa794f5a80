"""Completion at a Tab: commands, flags, their values, and the script that asks for them in bash."""

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
        (["tr"], ["train", "translate"]),
        (["--ver"], ["--version"]),
        (["nonsense", ""], []),
        (["train", "--pre"], ["--prepared", "--preset"]),
        (["train", "--preset", "t"], ["tiny"]),
        (["train", "--preset", "tiny", "--data", "t"], ["tfds", "tsv"]),
        (["train", "--output", ""], []),
        (["export", "run", "--format", "=", "s"], ["saved_model"]),
        (["export", "run", "--target", "="], ["fastest", "native", "onnxruntime", "portable"]),
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


def test_bash_completes_with_the_script(tmp_path: Path) -> None:
    program = tmp_path / "keras-transformer"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m keras_transformer.cli "$@"\n')
    program.chmod(0o755)
    script = f"""
        eval "$({program} --completion)"
        COMP_WORDS=(keras-transformer train --preset t) COMP_CWORD=3
        _keras_transformer {program}
        echo "${{COMPREPLY[*]}}"
        complete -p keras-transformer
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    shown, registered = done.stdout.splitlines()
    assert shown == "tiny"
    assert "-F _keras_transformer keras-transformer" in registered
