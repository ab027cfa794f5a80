"""The installed package: lazy public names, what the bare install needs, what the wheel holds."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from importlib import metadata, resources
from pathlib import Path

import pytest
import yaml
from fresh_process import python
from packaging.requirements import Requirement

import keras_transformer
from keras_transformer.distribution import DISTRIBUTION
from keras_transformer.runtime.onnx_graphs.operators import operators_library

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "keras_transformer" / "serving" / "http" / "page_files"
# What a serving or data-reading process may import without paying for TensorFlow.
LIGHT_MODULES = (
    "keras_transformer",
    "keras_transformer.cli",
    "keras_transformer.cli.commands.evaluate",
    "keras_transformer.cli.commands.export",
    "keras_transformer.cli.commands.generation.generate",
    "keras_transformer.cli.commands.train",
    "keras_transformer.cli.commands.translate",
    "keras_transformer.cli.commands.understanding.embed",
    "keras_transformer.config",
    "keras_transformer.data.sources.demo",
    "keras_transformer.data.sources.files",
    "keras_transformer.data.sources.tsv",
    "keras_transformer.search.options",
    "keras_transformer.evaluation",
    "keras_transformer.export",
    "keras_transformer.text.tokenizer",
    "keras_transformer.training.run.options",
)


# Whatever the sources, an empty library where the compiler's output was asked for.
NOTHING = """#!/bin/sh
for word; do
    [ "$before" = -o ] && output=$word
    before=$word
done
exec c++ -shared -x c++ /dev/null -o "$output"
"""


def test_importing_loads_no_tensorflow() -> None:
    """One after the other in one process: the first that loads it is named."""
    program = """
import sys
from importlib import import_module
for module in sys.argv[1:]:
    import_module(module)
    if {"tensorflow", "keras"} & set(sys.modules):
        sys.exit(f"{module} loads it")
"""
    assert python("-c", program, *LIGHT_MODULES).stderr == ""


@pytest.mark.parametrize("name", keras_transformer.__all__)
def test_every_public_name_resolves_to_its_definition(name: str) -> None:
    value = getattr(keras_transformer, name)
    assert value.__name__ == name
    assert value.__module__ == f"keras_transformer.{keras_transformer._HOMES[name]}"


def test_public_names_agree_with_what_type_checkers_see() -> None:
    tree = ast.parse((ROOT / "keras_transformer" / "__init__.py").read_text(encoding="utf-8"))
    declared = {
        alias.name: node.module.removeprefix("keras_transformer.")
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert declared == keras_transformer._HOMES
    assert sorted(declared) == keras_transformer.__all__
    assert set(declared) <= set(dir(keras_transformer))


def test_a_name_whose_packages_are_missing_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(module: str) -> None:
        raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)

    monkeypatch.setattr(keras_transformer, "import_module", fail)
    monkeypatch.delitem(vars(keras_transformer), "Translator", raising=False)
    missing = "keras"
    message = rf"keras_transformer.Translator needs keras: install it with `pip .*{DISTRIBUTION}\[t"
    with pytest.raises(ImportError, match=message):
        keras_transformer.Translator  # noqa: B018
    missing = "keras_transformer.decoding"  # A fault of our own is not a missing package.
    with pytest.raises(ModuleNotFoundError, match="No module named"):
        keras_transformer.Translator  # noqa: B018


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'transformer_model'"):
        keras_transformer.transformer_model  # noqa: B018


def test_version_is_the_installed_one() -> None:
    assert keras_transformer.__version__ == metadata.version(DISTRIBUTION)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert keras_transformer.__version__ == project["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == project["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    [newest, *_] = re.findall(r"^## (\d\S+)", changes, flags=re.MULTILINE)
    assert newest == project["version"]


def test_the_bare_install_needs_four_packages() -> None:
    needed = map(Requirement, metadata.requires(DISTRIBUTION) or [])
    bare = {requirement.name for requirement in needed if requirement.marker is None}
    assert bare == {"numpy", "onnxruntime", "sentencepiece", "sentencex"}


def test_every_directory_of_python_files_is_a_package() -> None:
    directories = {
        path.parent
        for top in ("keras_transformer", "export")
        for path in (ROOT / top).rglob("*.py")
    }
    # `find_packages` in setup.py leaves out what has no `__init__.py`.
    assert [folder for folder in directories if not (folder / "__init__.py").is_file()] == []


def test_type_checkers_are_told() -> None:
    assert resources.files("keras_transformer").joinpath("py.typed").is_file()


@pytest.fixture(scope="module")
def build_wheel(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Builds a wheel of a copy of the sources, with an environment of its own."""

    def build(**environment: str) -> Path:
        return wheel_of(tmp_path_factory.mktemp("sources"), {**os.environ, **environment})

    return build


def wheel_of(tmp_path: Path, environment: dict[str, str]) -> Path:
    for name in ("keras_transformer", "export"):
        ignore = shutil.ignore_patterns("__pycache__", "*.so")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    command += ["-w", "dist", "."]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, env=environment)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    return wheel


@pytest.mark.exhaustive
def test_a_wheel_without_the_operators_is_for_any_system(build_wheel: Callable[..., Path]) -> None:
    wheel = build_wheel(CC="/absent/cc", CXX="/absent/c++")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert not any(name.endswith(".so") for name in zipfile.ZipFile(wheel).namelist())


@pytest.fixture
def quick_compiler(tmp_path: Path) -> str:
    """A compiler that makes a library of nothing: what is in the wheel's was compiled before."""
    path = tmp_path / "c++"
    path.write_text(NOTHING)
    path.chmod(0o755)
    return str(path)


def test_the_wheel_holds_the_packages_and_nothing_else(
    build_wheel: Callable[..., Path], quick_compiler: str
) -> None:
    wheel = build_wheel(CC=quick_compiler, CXX=quick_compiler)
    names = zipfile.ZipFile(wheel).namelist()
    sources = {name for name in names if ".dist-info/" not in name}
    expected = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "keras_transformer").rglob("*.py")
    } | {
        "keras_transformer/" + path.relative_to(ROOT).as_posix()
        for path in (ROOT / "export").rglob("*.py")
    }
    # Compiled where a compiler is.
    library = {"keras_transformer/runtime/onnx_graphs/" + operators_library().name}
    data = {"keras_transformer/py.typed", "keras_transformer/data/sources/demo_corpus.tsv.gz"}
    page = {f"keras_transformer/serving/http/page_files/{path.name}" for path in PAGE.iterdir()}
    assert sources == expected | library | page | data
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert wheel.name.startswith(DISTRIBUTION.replace("-", "_"))
    assert "-py3-none-linux_" in wheel.name


def test_importing_the_package_alone_loads_nothing_slow() -> None:
    done = python("-c", "import sys, keras_transformer; print(*sys.modules)")
    assert not {"inspect", "numpy", "keras_transformer.messages"} & set(done.stdout.split())


def test_importing_says_when_another_package_lies_over_this_one(tmp_path: Path) -> None:
    """The files of the distribution `keras-transformer`, installed after this package."""
    package = tmp_path / "keras_transformer"
    shutil.copytree(ROOT / "keras_transformer", package)
    (package / "__init__.py").write_text("from .gelu import gelu\nfrom .transformer import *\n")
    (package / "gelu.py").write_text("def gelu(x): return x\n")
    (package / "transformer.py").write_text("import keras_multi_head\n")
    done = python("-c", "import keras_transformer", fails=True, folder=tmp_path)
    assert done.returncode == 1
    assert f"pip uninstall keras-transformer {DISTRIBUTION}" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("path", [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))])
def test_no_page_tells_to_install_the_other_package(path: Path) -> None:
    text = path.read_text(encoding="utf-8").replace(
        "**`pip install keras-transformer` installs", ""
    )
    assert not re.search(r'install "?keras-transformer\b', text)


@pytest.mark.exhaustive
def test_tensorflow_may_be_installed_under_another_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A run and its artefact record the version of what is imported, such as tensorflow-cpu's."""
    import tensorflow

    from keras_transformer.export import export_onnx

    find = metadata.Distribution.from_name

    def find_others(name: str) -> metadata.Distribution:
        if name == "tensorflow":
            raise metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(metadata.Distribution, "from_name", find_others)
    layers = {"num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    keras_transformer.train(
        keras_transformer.demo_corpus(200),
        tmp_path / "run",
        vocab_size=200,
        overrides={"model_dim": 8, "feed_forward_dim": 8, **layers},
        options=keras_transformer.TrainOptions(max_steps=1, bleu_sentences=0),
    )
    model, tokenizer, _ = keras_transformer.load_run(tmp_path / "run")
    export_onnx(model, tokenizer, tmp_path / "onnx")
    run = json.loads((tmp_path / "run" / "training.json").read_text(encoding="utf-8"))
    artefact = json.loads((tmp_path / "onnx" / "manifest.json").read_text(encoding="utf-8"))
    assert run["versions"]["tensorflow"] == tensorflow.__version__
    assert artefact["producer"]["tensorflow"] == tensorflow.__version__
