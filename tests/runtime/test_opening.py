"""The opening of artefacts: every family's in the same way, and each file once."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.runtime.generator import OnnxGenerator
from keras_transformer.runtime.opening import OpenedArtefact
from keras_transformer.runtime.translator import OnnxTranslator

CLASSES = [OnnxTranslator, OnnxEncoder, OnnxGenerator]


@pytest.fixture(params=CLASSES)
def opened_class(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def artefact(opened_class: Any, exported: Any, export_small: Callable[..., Any]) -> Path:
    if opened_class is OnnxTranslator:
        return exported.path
    return export_small("encoder" if opened_class is OnnxEncoder else "decoder").path


def test_files_that_were_opened_once_are_not_read_again(
    opened_class: Any, artefact: Path, tmp_path: Path
) -> None:
    files = ArtefactFiles(shutil.copytree(artefact, tmp_path / "copy"))
    with opened_class(files, threads=1) as first:
        shutil.rmtree(tmp_path / "copy")
        with opened_class(files, threads=1) as second:
            assert second.manifest is first.manifest
            assert second.describe() == first.describe()


def test_what_is_closed_runs_no_more(opened_class: Any, artefact: Path) -> None:
    with opened_class(artefact, threads=1) as opened:
        assert isinstance(opened, OpenedArtefact)
        assert opened.describe()["family"] == opened.manifest.family
    with pytest.raises(RuntimeError, match="the model is closed"):
        {
            OnnxTranslator: lambda: opened.translate(["a"]),
            OnnxEncoder: lambda: opened.states(["a"]),
            OnnxGenerator: lambda: opened.generate(["a"]),
        }[opened_class]()


def test_another_family_is_refused_before_its_files_are_read(
    opened_class: Any, artefact: Path, tmp_path: Path
) -> None:
    shutil.copy(artefact / "manifest.json", tmp_path)
    for other in CLASSES:
        if other is not opened_class:
            with pytest.raises(ValueError, match=f"open it with {opened_class.__name__}"):
                other(tmp_path)
