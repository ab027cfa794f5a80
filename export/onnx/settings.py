"""The settings of an ONNX export, checked without the model or TensorFlow."""

from pathlib import Path

from keras_transformer.artefact.manifest import MANIFEST_FILE, TARGETS
from keras_transformer.config.checks import check_choice
from keras_transformer.export.placement import check_place
from keras_transformer.runtime.onnx_graphs.operators import check_library

# Graphs for "native" and "onnxruntime" over one file of weights, between which the runtime chooses.
FASTEST = "fastest"
EXPORT_TARGETS = (FASTEST, *TARGETS)
PRECISIONS = ("float32", "int8", "int8_batch_dependent", "int4", "bfloat16", "float16")
LOWEST_OPSET = 18


def check_settings(
    directory: Path, *, target: str, quantize: str | None, opset: int, overwrite: bool
) -> None:
    """Raises an error for settings that fit no model; arguments are as for `export_onnx`.

    Raises:
        FileExistsError: The directory exists and `overwrite` is False, or it is not an artefact.
        ImportError: `target` is "native" and the operators are not compiled here.
        OSError: The directory cannot be made.
        ValueError: A setting is unknown or out of range, or two do not fit each other.
    """
    check_choice("target", target, EXPORT_TARGETS)
    _check_opset(opset)
    if quantize is not None:
        check_choice("quantize", quantize, PRECISIONS[1:])
    if target == "portable" and quantize is not None and quantize.startswith("int"):
        raise ValueError(
            f"quantize={quantize!r} needs onnxruntime's operators: give target='onnxruntime'."
        )
    if target not in ("native", FASTEST) and quantize == "bfloat16":
        raise ValueError(
            f"quantize='bfloat16' needs this package's own operators, and target={target!r} has "
            "none of them: give target='native'."
        )
    if target == "native" or quantize == "bfloat16":
        check_library()
    check_place(directory, mark=MANIFEST_FILE, overwrite=overwrite)


def _check_opset(opset: int) -> None:
    if opset < LOWEST_OPSET:
        raise ValueError(f"opset must be at least {LOWEST_OPSET}, got {opset}.")
    if opset > LOWEST_OPSET and opset > (newest := _newest_opset()):
        raise ValueError(
            f"opset must be at most {newest}, the newest that both onnx and onnxruntime read in "
            f"the versions installed here, got {opset}."
        )


def _newest_opset() -> int:
    """Returns the newest operator set that graphs can be written in and run here."""
    import onnx
    import onnxruntime

    smallest = '<ir_version: 8, opset_import: ["": {}]> g (float x) => (float y) {{ y = Abs (x) }}'
    for opset in range(onnx.defs.onnx_opset_version(), LOWEST_OPSET, -1):
        model = onnx.parser.parse_model(smallest.format(opset))
        model.ir_version = onnx.helper.find_min_ir_version_for(model.opset_import, True)
        try:
            onnxruntime.InferenceSession(model.SerializeToString())
        except Exception:  # onnxruntime's own errors share no other class.
            continue
        return opset
    return LOWEST_OPSET
