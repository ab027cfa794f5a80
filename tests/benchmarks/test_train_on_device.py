"""The training benchmark on an accelerator, run where there is none, and how it takes failures."""

import importlib.util
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fresh_process import run_script
from training import device
from training.batches import Batch


@pytest.mark.exhaustive
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs the package jax")
def test_a_small_benchmark_without_tensorflow(benchmarks: Path, tmp_path: Path) -> None:
    script, work = benchmarks / "train_on_device.py", ["--work", str(tmp_path), "--size", "mini"]
    missing = run_script(script, *work)
    assert missing.returncode == 1
    assert "has no batches for mini: make them with --make" in missing.stderr
    made = run_script(script, "--make", *work)
    assert made.returncode == 0, made.stderr

    names = ["ours", "pytorch-eager"] if importlib.util.find_spec("torch") else ["ours"]
    # An import of TensorFlow fails as if it were not installed.
    (tmp_path / "tensorflow.py").write_text("raise ImportError", encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    asked = ["--engines", ",".join(names), "--precision", "mixed_bfloat16", "--repeats", "1"]
    places = ["--json", str(tmp_path / "out.json")]
    done = run_script(script, *work, *asked, *places, PYTHONPATH=path, JAX_PLATFORMS="cpu")
    assert done.returncode == 0, done.stderr
    (group,) = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["groups"]
    assert list(group["engines"]) == names
    for engine in group["engines"].values():
        assert engine["last_loss"] < engine["first_loss"]
        assert engine["product_error"] < 1e-5
    assert all(shape[1] % 8 == 0 for shape in group["shapes"].values())
    assert (tmp_path / "out.md").read_text(encoding="utf-8").strip() in done.stdout
    assert ("| mini | mixed_bfloat16 | PyTorch |" in done.stdout) == (len(names) == 2)


class Scripted:
    """A process whose answers are given."""

    ended: list[str] = []

    def __init__(self, module: str, *arguments: str, name: str) -> None:
        self.name = name

    def __enter__(self) -> "Scripted":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def end(self) -> None:
        self.ended.append(self.name)

    def ask(self, do: str, **arguments: Any) -> Any:
        if do == "load" and self.name == "pytorch-compile":
            raise RuntimeError("out of memory")
        losses = {"first_loss": 9.0 if self.name != "ours-unfused" else 5.0}
        return {
            "load": {"parameters": 16_560, **losses},
            "describe": {"device": "GPU"},
            "measure": 2.0 if self.name == "ours" else 4.0,
            "train_on_first": 4.0,
            "peak_memory": 10**9,
        }[do]


def batch(rows: int, length: int) -> Batch:
    ids = np.ones((rows, length), np.int32)
    return Batch({"source_ids": ids, "target_ids": ids}, ids, ids.astype(np.float32))


def test_an_engine_that_fails_or_does_other_work_is_noted_and_the_others_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    config = type("Config", (), {"parameter_count": 16_560})
    monkeypatch.setattr(device, "MODELS", {"mini": config})
    monkeypatch.setattr(device, "Worker", Scripted)
    monkeypatch.setattr(device, "read_batches", lambda path: [batch(3, 4)] * 2)
    saved: list[Sequence[str]] = []
    group: dict[str, Any] = {}
    names = ["ours", "ours-unfused", "pytorch-compile", "pytorch-eager"]
    asked = ("mini", "float32", names, tmp_path, 2)
    device.measure(*asked, group, lambda: saved.append(list(group["engines"])))
    assert group["failures"]["pytorch-compile"] == "out of memory"
    assert "starts with a loss of 5.00, ours 9.00" in group["failures"]["ours-unfused"]
    assert Scripted.ended == ["pytorch-compile"]
    assert saved[0] == ["ours"]
    assert group["engines"]["ours"]["rates"] == [12.0, 12.0]
    found = device.row(group)
    assert found is not None
    assert (found["ours_variant"], found["theirs_variant"]) == ("ours", "pytorch-eager")
    assert found["ratio"] == 2.0


def test_rounded_batches_have_padding_up_to_multiples_of_eight() -> None:
    rounded = batch(3, 13).rounded()
    assert set(rounded.shapes.values()) == {(3, 16)}
    assert rounded.tokens == 3 * 13
    assert rounded.sample_weight.sum() == 3 * 13
