"""Every set of instructions that this processor has makes the same of matrices and logits, and none
is used where another was asked for or on a processor without it."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[3] / "export" / "native"
SETS = ["portable", "avx2", "vnni", "amx"]
COMPILE = ["g++", "-std=c++17", "-Wno-psabi", "-I", str(SOURCES)]
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What compares and names the sets, built with sanitizers."""
    sources = [Path(__file__).with_name("instructions_test.cc")]
    sources += [SOURCES / f"{name}.cc" for name in SETS]
    program = tmp_path_factory.mktemp("instructions") / "instructions_test"
    sanitizers = ["-O2", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
    subprocess.run([*COMPILE, *sanitizers, *map(str, sources), "-o", str(program)], check=True)
    return program


def test_all_instructions_find_what_plain_code_finds(program: Path) -> None:
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def chosen(program: Path, most: str) -> str:
    environment = {**os.environ, "KERAS_TRANSFORMER_MAX_ISA": most}
    command = [program, "chosen"]
    return subprocess.check_output(command, text=True, env=environment).strip()


def test_no_set_above_the_one_asked_for_is_chosen(program: Path) -> None:
    fastest = SETS.index(chosen(program, ""))
    found = [SETS.index(chosen(program, most)) for most in SETS]
    # What lies between may be missing from this processor.
    assert found[0] == 0 and found[-1] == fastest
    assert all(place <= most for most, place in enumerate(found)) and found == sorted(found)


@pytest.mark.parametrize("name", ["avx2", "vnni", "amx"])
def test_what_files_share_is_for_every_processor(tmp_path: Path, name: str) -> None:
    if shutil.which("objdump") is None:
        pytest.skip("no objdump")
    built = tmp_path / "object.o"
    source = str(SOURCES / f"{name}.cc")
    subprocess.run([*COMPILE, "-Og", "-c", source, "-o", str(built)], check=True)
    # The linker keeps one copy of a weak function, which may be this file's.
    table = subprocess.check_output(["nm", str(built)], text=True)
    weak = {line.split()[-1] for line in table.splitlines() if re.search(r" [WVu] ", line)}
    code = subprocess.check_output(["objdump", "-d", str(built)], text=True)
    for function in re.split(r"\n(?=[0-9a-f]+ <)", code):
        named = re.match(r"[0-9a-f]+ <(.+)>:", function)
        if named and named[1] in weak:
            assert not re.search(r"%[yz]mm|\tv\w+ ", function), named[1]
