"""Every set of instructions that this processor has finds the same in a matrix of bytes."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "export" / "native"


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
def test_all_instructions_find_what_plain_code_finds(tmp_path: Path) -> None:
    sources = [Path(__file__).with_name("screen_test.cc"), *sorted(SOURCES.glob("screen_*.cc"))]
    command = ["g++", "-std=c++17", "-O2", "-Wno-psabi", "-I", str(SOURCES)]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    program = tmp_path / "screen_test"
    subprocess.run([*command, *map(str, sources), "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
