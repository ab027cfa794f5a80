"""Exporters: `export_run` and `export_onnx` write ONNX artefacts for `OnnxTranslator`, which needs
no TensorFlow; `export_saved_model` writes a SavedModel for TensorFlow Serving, and
`export_pretrained` writes the format of another toolkit. `Manifest` describes an artefact to the
runtime. Names are imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from keras_transformer.messages import without_start_messages
from keras_transformer.suggestions import did_you_mean, suggests_arguments

if TYPE_CHECKING:
    from keras_transformer.artefact.manifest import Manifest
    from keras_transformer.export.onnx.export import export_onnx
    from keras_transformer.export.onnx.from_run import export_run
    from keras_transformer.export.pretrained.export import export_pretrained
    from keras_transformer.export.saved_model.export import export_saved_model
    from keras_transformer.runtime.translator import OnnxTranslator
    from keras_transformer.search.options import Hypothesis

__all__ = [
    "Hypothesis",
    "Manifest",
    "OnnxTranslator",
    "export_onnx",
    "export_pretrained",
    "export_run",
    "export_saved_model",
]

_HOMES = {
    "Hypothesis": "keras_transformer.search.options",
    "Manifest": "keras_transformer.artefact.manifest",
    "OnnxTranslator": "keras_transformer.runtime.translator",
    "export_onnx": "keras_transformer.export.onnx.export",
    "export_pretrained": "keras_transformer.export.pretrained.export",
    "export_run": "keras_transformer.export.onnx.from_run",
    "export_saved_model": "keras_transformer.export.saved_model.export",
}


def __getattr__(name: str) -> object:
    """Import the module that defines the public name `name` and keep the value here."""
    if name not in _HOMES:
        hint = did_you_mean(name, _HOMES)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    with without_start_messages():
        value = suggests_arguments(getattr(import_module(_HOMES[name]), name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not, for completion."""
    return sorted({*globals(), *__all__})
