"""An artefact with graphs for two targets runs those of our operators where they are compiled, of
its version and fast; onnxruntime's elsewhere, and says why."""

import dataclasses
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.export import Manifest, OnnxTranslator
from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.runtime.generator import OnnxGenerator
from keras_transformer.runtime.onnx_graphs import choice, operators
from keras_transformer.runtime.onnx_graphs.choice import Choice, choose_graphs


def chosen(path: Path, **changes: int) -> Choice:
    """The choice for an artefact, its native graphs changed."""
    manifest = Manifest.read(path)
    assert manifest.native is not None
    native = dataclasses.replace(manifest.native, **changes)
    return choose_graphs(dataclasses.replace(manifest, native=native), path)


def test_where_our_operators_are_fast_their_graphs_run(
    exported_fastest: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any, texts: list[str]
) -> None:
    monkeypatch.setattr(choice, "instructions", lambda: "avx2")
    with caplog.at_level(logging.INFO), OnnxTranslator(exported_fastest.path) as translator:
        described = translator.describe()
    reason = "this package's operators are compiled here and have kernels for avx2"
    assert described == {
        "family": "encoder-decoder",
        "precision": "float32",
        "target": "native",
        "reason": reason,
    }
    [record] = caplog.records
    assert record.levelname == "INFO"
    assert record.getMessage() == f"{exported_fastest.path} runs its graphs for native: {reason}"


def test_where_they_are_not_fast_onnxruntime_s_run(
    exported_fastest: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(choice, "instructions", lambda: "portable")
    found = chosen(exported_fastest.path)
    assert found.manifest == Manifest.read(exported_fastest.path).of_target("onnxruntime")
    assert "no fast kernels for this processor" in found.reason
    assert not caplog.records  # Nothing that anybody could change.


def test_where_they_are_missing_or_of_another_version_a_warning_says_so(
    exported_fastest: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    version = operators.operators_version()
    others = [chosen(exported_fastest.path, operators_version=version + 1)]
    monkeypatch.setattr(operators, "_NAME", "_absent")
    others.append(chosen(exported_fastest.path))
    assert [one.manifest.target for one in others] == ["onnxruntime"] * 2
    messages = [record.getMessage() for record in caplog.records]
    for found, message, why in zip(others, messages, ("for version", "not here"), strict=True):
        assert f"runs its graphs for onnxruntime: {found.reason}" in message and why in message
    with OnnxTranslator(exported_fastest.path) as translator:
        assert translator.translate(["hello"], max_length=3)


def test_graphs_of_a_later_revision_give_way_to_onnxruntime_s(
    exported_fastest: Any, caplog: Any
) -> None:
    known = operators.operators_revision()
    for earlier in (None, 1, known):
        assert chosen(exported_fastest.path, operators_revision=earlier).reason.endswith(
            chosen(exported_fastest.path).reason
        )
    found = chosen(exported_fastest.path, operators_revision=known + 1)
    assert found.manifest == Manifest.read(exported_fastest.path).of_target("onnxruntime")
    assert f"for revision {known + 1} of this package's operators" in found.reason
    assert "update this package" in found.reason
    assert caplog.records[-1].levelname == "WARNING"


@pytest.mark.parametrize("target", ["onnxruntime", "native"])
def test_the_caller_may_choose(
    exported_fastest: Any, export_small: Callable[..., Any], target: str
) -> None:
    with OnnxTranslator(exported_fastest.path, target=target) as translator:
        assert translator.describe()["target"] == target
    for opened, family in ((OnnxEncoder, "encoder"), (OnnxGenerator, "decoder")):
        path = export_small(family, target).path
        with opened(path, target=target) as model:
            assert (model.describe()["family"], model.describe()["target"]) == (family, target)


def test_graphs_that_there_are_not_cannot_be_chosen(exported: Any) -> None:
    message = "graphs for onnxruntime only, got target='native': export the model for it"
    with pytest.raises(ValueError, match=message):
        OnnxTranslator(exported.path, target="native")
