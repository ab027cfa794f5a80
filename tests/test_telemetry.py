"""keras_transformer/telemetry.py: nothing is written to the home, and no name server is asked."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.telemetry import SILENCED

ROOT = Path(__file__).resolve().parents[1]
TRANSLATE = """
import sys, time
from keras_transformer import OnnxTranslator

with OnnxTranslator(sys.argv[1]) as translator:
    translator.translate(["Hello."])
    time.sleep(float(sys.argv[2]))
"""
# Longer than onnxruntime waits before it first sends what it noted: about 30 seconds.
LONG = 45


def environment(home: Path, **more: str) -> dict[str, str]:
    """Returns this process's variables as a user has them who has set none of ours."""
    kept = {name: value for name, value in os.environ.items() if name not in SILENCED}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache"), **more}


def written(home: Path) -> list[str]:
    return sorted(str(path.relative_to(home)) for path in home.rglob("*"))


def python(code: str, home: Path, *arguments: str, **more: str) -> list[str]:
    command = [sys.executable, "-c", code, *arguments]
    subprocess.run(command, env=environment(home, **more), check=True, cwd=ROOT, timeout=120)
    return written(home)


def test_a_translator_writes_nothing_to_the_home(exported: Any, tmp_path: Path) -> None:
    assert python(TRANSLATE, tmp_path, str(exported.path), "0") == []


def test_the_command_writes_nothing_to_the_home(exported: Any, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "keras_transformer", "translate", str(exported.path)]
    subprocess.run(
        command, env=environment(tmp_path), check=True, input=b"Hello.\n", stdout=subprocess.DEVNULL
    )
    assert written(tmp_path) == []


def test_a_user_may_want_it(tmp_path: Path) -> None:
    found = python("import keras_transformer, onnxruntime", tmp_path, ORT_DISABLE_TELEMETRY="0")
    # Older versions have none, those for other systems another.
    assert not found or any("deviceid" in name for name in found)


@pytest.mark.parametrize("users", [None, "0"])
def test_an_onnxruntime_that_was_loaded_before_is_told_to_stop(
    users: str | None, tmp_path: Path
) -> None:
    code = """
import onnxruntime

told = []
onnxruntime.disable_telemetry_events = lambda: told.append(1)
import keras_transformer

print(len(told))
"""
    more = {} if users is None else {"ORT_DISABLE_TELEMETRY": users}
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(tmp_path, **more),
        check=True,
        capture_output=True,
        text=True,
    )
    assert result.stdout.split() == ["1" if users is None else "0"]


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_a_translator_that_lives_long_asks_no_name_server(exported: Any, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    command = ["strace", "-f", "-qq", "-e", "trace=%network", "-o", str(calls), sys.executable]
    home = tmp_path / "home"
    home.mkdir()
    subprocess.run(
        [*command, "-c", TRANSLATE, str(exported.path), str(LONG)],
        env=environment(home),
        check=True,
    )
    assert "connect(" not in calls.read_text() and written(home) == []
