"""Engines that ours is compared with: their environments, names and converted models."""

import json
import subprocess
import venv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import encoding.peers
import generation.peers
import pytest
from peers.environments import python_of
from peers.names import fastest, library_of, peer_name
from peers.peer import Peer

PEER = Peer(
    name="fast",
    engine="engine",
    precisions=("float32", "int8"),
    packages=("fast", "more"),
    converter="converter",
    without=("GPT2LMHeadModel",),
)


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Collects what would run, with success."""
    found: list[list[str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        found.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(venv, "create", lambda directory, **_: Path(directory).mkdir(parents=True))
    return found


def fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))


def folder_of(directory: Path, architecture: str) -> Path:
    (directory / "huggingface").mkdir()
    config = json.dumps({"architectures": [architecture]})
    (directory / "huggingface" / "config.json").write_text(config)
    return directory


def test_an_environment_is_made_once(tmp_path: Path, commands: list[list[str]]) -> None:
    python = python_of(tmp_path, "fast", ["fast", "more"])
    assert python == str(tmp_path / "fast" / "bin" / "python")
    assert python_of(tmp_path, "fast", ["fast", "more"]) == python
    assert commands == [[python, "-m", "pip", "install", "--quiet", "fast", "more"]]


def test_other_packages_make_it_anew(tmp_path: Path, commands: list[list[str]]) -> None:
    python_of(tmp_path, "fast", ["fast"])
    python_of(tmp_path, "fast", ["fast", "more"])
    assert len(commands) == 2


def test_a_failed_install_is_an_error_and_tried_again(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail(patch)
        with pytest.raises(RuntimeError, match="pip could not install fast, more for fast"):
            python_of(tmp_path, "fast", ["fast", "more"])
    python_of(tmp_path, "fast", ["fast", "more"])
    assert len(commands) == 1


def test_benchmarks_share_environments() -> None:
    shared = generation.peers.PEERS.keys() & encoding.peers.PEERS.keys()
    assert "openvino" in shared
    for name in shared:
        assert generation.peers.PEERS[name].packages == encoding.peers.PEERS[name].packages


def test_only_missing_models_are_converted(tmp_path: Path, commands: list[list[str]]) -> None:
    folder = folder_of(tmp_path, "LlamaForCausalLM")
    (folder / "fast-float32").mkdir()
    (folder / "fast-int8.partial").mkdir()  # Stands for what the converter writes.
    with pytest.raises(FileNotFoundError):  # An interrupted one is removed first.
        PEER.convert(folder, ["int4", "int8", "float32"], tmp_path / "environments")
    _, conversion = commands
    assert conversion[1:3] == ["-m", "converter"]
    assert conversion[3:] == [str(folder / "huggingface"), f"{folder}/fast-int8.partial", "int8"]


def test_a_failed_conversion_is_an_error(
    tmp_path: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path, "LlamaForCausalLM")
    PEER.python(tmp_path)
    fail(monkeypatch)
    with pytest.raises(RuntimeError, match="fast could not convert .*huggingface in int8"):
        PEER.convert(folder, ["int8"], tmp_path)


def test_an_architecture_or_a_precision_may_be_missing(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "GPT2LMHeadModel")
    assert not PEER.runs(folder, "int8")
    (folder / "huggingface" / "config.json").write_text('{"architectures": ["Qwen2ForCausalLM"]}')
    assert PEER.runs(folder, "int8")
    assert not PEER.runs(folder, "int4")


def test_one_thread_is_tried_where_it_may_be_faster() -> None:
    assert PEER.threads(4) == [4]
    both = Peer(name="slow", engine="engine", precisions=(), any_threads=True)
    assert (both.threads(4), both.threads(1)) == ([1, 4], [1])


def test_the_fastest_of_a_librarys_engines_counts() -> None:
    rates = {peer_name("fast", 1): 2.0, peer_name("fast", 2): 3.0, "other × 2": 4.0}
    assert fastest(rates, "fast") == 3
    assert fastest(rates, "third") is None
    assert library_of("llama.cpp × 2") == "llama.cpp"
