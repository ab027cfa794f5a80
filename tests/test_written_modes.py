"""Whatever is written may be read by whom the umask lets, also what libraries write privately."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.export import export_onnx, export_pretrained
from keras_transformer.export.saved_model.export import export_saved_model
from keras_transformer.pretrained.recognise import from_pretrained
from keras_transformer.training.transfer.import_run import import_run

TRANSLATORS = Path(__file__).parent / "fixtures" / "translators"
MARIAN = TRANSLATORS / "marian_huggingface"


@pytest.fixture(params=[0o027, 0o077], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """A umask that leaves others nothing."""
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.fixture(scope="module")
def model() -> Any:
    """A model and its tokenizers."""
    return from_pretrained(MARIAN)


def pretrained(form: str) -> Callable[[Any, Path], Any]:
    def write(model: Any, path: Path) -> None:
        translator, source, target = model
        export_pretrained(
            translator,
            path,
            format=form,  # type: ignore[arg-type]
            tokenizer=source,
            target_tokenizer=target,
        )

    return write


def write_preset(model: Any, path: Path) -> None:
    model[0].save_to_preset(path, model[1])


WRITERS: dict[str, Callable[[Any, Path], Any]] = {
    "run": lambda model, path: import_run(MARIAN, path),
    "preset": write_preset,
    "tokenizer": lambda model, path: (path.mkdir(), model[1].save(path / "a.model")),
    "huggingface": pretrained("huggingface"),
    "ctranslate2": pretrained("ctranslate2"),
    "onnx": lambda model, path: export_onnx(model[0], model[1], path, target="portable"),
    "saved_model": lambda model, path: export_saved_model(model[0], path, tokenizer=model[1]),
}
SLOW = ("onnx", "saved_model")


@pytest.mark.parametrize(
    "writer",
    [pytest.param(name, marks=pytest.mark.exhaustive if name in SLOW else ()) for name in WRITERS],
)
def test_files_have_the_mode_that_the_umask_leaves(
    writer: str, umask: int, model: Any, tmp_path: Path
) -> None:
    path = tmp_path / "written"
    WRITERS[writer](model, path)
    found = [path, *path.rglob("*")]
    modes = {one.relative_to(tmp_path): oct(one.stat().st_mode & 0o777) for one in found}
    assert len(modes) > 1
    assert modes == {
        one.relative_to(tmp_path): oct((0o777 if one.is_dir() else 0o666) & ~umask) for one in found
    }
