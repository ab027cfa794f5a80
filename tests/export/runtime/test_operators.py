"""The library of our operators is found where it was compiled; where it was not, a message says
what to do before anything else happens."""

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from keras_transformer.export import OnnxTranslator, export_onnx
from keras_transformer.export.runtime import operators
from keras_transformer.export.runtime.operators import operators_library


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package had been installed without a compiler."""
    monkeypatch.setattr(operators, "_NAME", "_absent")


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
def test_it_is_compiled_where_a_compiler_is() -> None:
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(operators_library()))
    assert operators_library().suffix == Path(sysconfig.get_config_var("EXT_SUFFIX")).suffix


def test_many_sessions_may_register_it(exported_native: Any) -> None:
    first, second = (OnnxTranslator(exported_native.path, threads=1) for _ in range(2))
    first.close()
    assert second.translate(["hello"], max_length=5) == second.translate(["hello"], max_length=5)


def test_an_artefact_that_needs_it_is_refused_without(
    exported_native: Any, uncompiled: None
) -> None:
    # The encoder is opened with the translator, so that nothing has begun yet.
    with pytest.raises(ImportError, match='export with target="onnxruntime"'):
        OnnxTranslator(exported_native.path)


def test_nothing_is_exported_without_it(exported: Any, tmp_path: Path, uncompiled: None) -> None:
    with pytest.raises(ImportError, match=r"install it from source with GCC 12 or newer"):
        export_onnx(exported.model, exported.source_tokenizer, tmp_path / "a", target="native")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_says_so_in_one_line(exported_native: Any, tmp_path: Path) -> None:
    program = (
        "import sys; from keras_transformer.export.runtime import operators; "
        "operators._NAME = '_absent'; from keras_transformer.cli import main; "
        f"sys.exit(main(['translate', {str(exported_native.path)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input="hello\n", capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "they are not here" in done.stderr
    assert "Traceback" not in done.stderr
