"""Every set of instructions that this processor has makes the same of matrices and logits, and none
is used where another was asked for or on a processor without it."""

import functools
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from onnxruntime import SessionOptions
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

from keras_transformer.runtime.onnx_graphs.operators import instructions, operators_library
from tools.covering import some

SOURCES = Path(__file__).resolve().parents[3] / "keras_transformer" / "runtime" / "native"
Run = Callable[..., list[np.ndarray]]
SETS = {
    "x86_64": ["portable", "avx2", "avxvnni", "vnni", "bf16", "amx"],
    "aarch64": ["portable", "dotprod", "i8mm"],
}
# In assembly: registers and instructions that not every processor has.
WIDE = r"%[yz]mm|\tv\w+ "
FOLDERS = [SOURCES, *(path for path in SOURCES.iterdir() if path.is_dir())]
COMPILE = ["-std=c++17", "-Wno-psabi", *(f"-I{folder}" for folder in FOLDERS)]
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")


def source_of(name: str) -> Path:
    [source] = SOURCES.rglob(f"{name}.cc")
    return source


class Program(NamedTuple):
    """What compares and names the sets, and how it is run."""

    command: list[str]
    sets: list[str]

    def chosen(self, most: str) -> str:
        environment = {**os.environ, "KERAS_TRANSFORMER_MAX_ISA": most}
        command = [*self.command, "chosen"]
        return subprocess.check_output(command, text=True, env=environment).strip()


# Compilers, and what runs their programs: qemu has the sets that this processor may lack.
QEMU = "qemu-aarch64-static" if shutil.which("qemu-aarch64-static") else "qemu-aarch64"
SANITIZED = ["g++", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover"]
PROGRAMS = {
    "sanitized": (SANITIZED, [], platform.machine()),
    "clang": (["clang++", "-O2"], [], platform.machine()),
    "arm64": (["aarch64-linux-gnu-g++", "-O2", "-static"], [QEMU], "aarch64"),
}


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Program]:
    """`build(name)`: one of the programs, each built once."""
    return functools.cache(lambda name: make(name, tmp_path_factory.mktemp(name)))


# The operators of this processor's sets, sanitized or not, run in other tests.
@pytest.fixture(params=some(PROGRAMS, "arm64"))
def program(request: pytest.FixtureRequest, build: Callable[[str], Program]) -> Program:
    return build(request.param)


def make(name: str, folder: Path) -> Program:
    compiler, runner, machine = PROGRAMS[name]
    for tool in [compiler[0], *runner]:
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool}")
    sources = [Path(__file__).with_name("instructions_test.cc")]
    sources += map(source_of, ("instructions", "widened"))
    sources += (SOURCES / "sets").glob("*.cc")
    built = folder / "instructions_test"
    subprocess.run([*compiler, *COMPILE, *map(str, sources), "-o", str(built)], check=True)
    return Program([*runner, str(built)], SETS.get(machine, ["portable"]))


@pytest.mark.exhaustive
def test_all_instructions_find_what_plain_code_finds(program: Program) -> None:
    done = subprocess.run(program.command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_no_set_above_the_one_asked_for_is_chosen(program: Program) -> None:
    sets = program.sets
    fastest = sets.index(program.chosen(""))
    found = [sets.index(program.chosen(most)) for most in sets]
    # What lies between may be missing from this processor.
    assert found[0] == 0 and found[-1] == fastest
    assert all(place <= most for most, place in enumerate(found)) and found == sorted(found)


@pytest.mark.skipif(instructions() not in SETS["x86_64"][1:], reason="no AVX2")
@pytest.mark.parametrize(
    ("library", "fuses"), [("portable", False), ("avx2", True)], indirect=["library"]
)
def test_loops_use_no_set_above_the_one_asked_for(run: Run, fuses: bool) -> None:
    random = np.random.default_rng(0)
    sums = random.integers(-(2**23), 2**23, (1, 500), np.int32)
    scales, bias = random.standard_normal((2, 500)).astype(np.float32)
    of_rows = np.full((1, 1), 1e-6, np.float32)
    [found] = run("ScaleSums", [sums, scales, of_rows, bias], stored=[1, 3], relu=0)
    # From AVX2's set on a product and a sum are one instruction, which rounds once.
    rounded_twice = sums.astype(np.float32) * (scales * of_rows) + bias
    assert (found != rounded_twice).any() == fuses


def test_an_unknown_set_is_refused_when_the_library_is_registered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = shutil.copy(operators_library(), tmp_path / "operators.so")
    monkeypatch.setenv("KERAS_TRANSFORMER_MAX_ISA", "sse9")
    with pytest.raises(InvalidArgument, match='must be portable, .*, or not set, got "sse9"'):
        SessionOptions().register_custom_ops_library(str(library))


def functions_of(built: Path) -> Iterator[tuple[str, str]]:
    """The name and the code of each function."""
    if shutil.which("objdump") is None:
        pytest.skip("no objdump")
    code = subprocess.check_output(["objdump", "-d", str(built)], text=True)
    for function in re.split(r"\n(?=[0-9a-f]+ <)", code):
        named = re.match(r"[0-9a-f]+ <(.+)>:", function)
        if named:
            yield named[1], function


def test_what_belongs_to_no_set_is_for_every_processor() -> None:
    functions = list(functions_of(operators_library()))
    assert any("add_norm" in name for name, _ in functions)
    for name, code in functions:
        assert re.search("4avx2|7avxvnni|4vnni|4bf16|3amx", name) or not re.search(WIDE, code), name


@pytest.mark.parametrize(
    "name",
    some(["avx2", "avxvnni", "vnni", "bf16", "amx", "bfloat16_tiles"], "avx2", "bfloat16_tiles"),
)
def test_what_files_share_is_for_every_processor(tmp_path: Path, name: str) -> None:
    built = tmp_path / "object.o"
    source = str(source_of(name))
    subprocess.run(["g++", *COMPILE, "-Og", "-c", source, "-o", str(built)], check=True)
    # The linker keeps one copy of a weak function, which may be this file's.
    table = subprocess.check_output(["nm", str(built)], text=True)
    weak = {line.split()[-1] for line in table.splitlines() if re.search(r" [WVu] ", line)}
    for function, code in functions_of(built):
        assert function not in weak or not re.search(WIDE, code), function
