"""Every set of instructions that this processor has makes the same of matrices and logits."""

import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "export" / "native"


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
def test_all_instructions_find_what_plain_code_finds(tmp_path: Path) -> None:
    versions = [SOURCES / f"{name}.cc" for name in ("portable", "avx2", "vnni", "amx")]
    sources = [Path(__file__).with_name("instructions_test.cc"), *versions]
    command = ["g++", "-std=c++17", "-O2", "-Wno-psabi", "-I", str(SOURCES)]
    command += ["-fsanitize=address,undefined", "-fno-sanitize-recover"]
    program = tmp_path / "instructions_test"
    subprocess.run([*command, *map(str, sources), "-o", str(program)], check=True)
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
