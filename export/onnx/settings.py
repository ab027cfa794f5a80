"""The settings of an ONNX export, checked without the model or TensorFlow."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from keras_transformer.artefact.manifest import MANIFEST_FILE, TARGETS
from keras_transformer.config.checks import check_choice
from keras_transformer.export.placement import check_place
from keras_transformer.runtime.onnx_graphs.operators import check_library

# Graphs for "native" and "onnxruntime" over one file of weights, between which the runtime chooses.
FASTEST = "fastest"
EXPORT_TARGETS = (FASTEST, *TARGETS)
PRECISIONS = ("float32", "int8", "int8_batch_dependent", "int4", "bfloat16", "float16")
LOWEST_OPSET = 18
_BLOCK_SIZES = (32, 128)


class Int4Form(NamedTuple):
    """The form of 4-bit weights.

    Attributes:
        block_size: Inputs that share a scale: 32 or 128.
        zero_points: Whether each block has a zero point of its own.
    """

    block_size: int = 32
    zero_points: bool = False


@dataclass(frozen=True, kw_only=True)
class Quantization:
    """How weights are quantised, and the loss that is allowed.

    Args:
        block_size: Inputs that share a scale in int4: 32, or 128, which is smaller by an eleventh.
        zero_points: Whether each block has a zero point in int4, too: a little larger and more
            precise.
        calibration: Texts; for a translation model lines of a source, a tab and its translation.
            int4 rounds weights to fit them (GPTQ), and the loss on them is measured in every
            precision. Without them, int4 rounds each weight to the nearest.
        max_loss: Largest loss on them that is exported: the relative growth of the perplexity, or
            for an encoder 1 minus the mean cosine of its vectors to float32's; None for any.

    Raises:
        ValueError: A value is out of range, or `max_loss` is given without `calibration`.
    """

    block_size: int = 32
    zero_points: bool = False
    calibration: Sequence[str] | None = None
    max_loss: float | None = None

    def __post_init__(self) -> None:
        if self.block_size not in _BLOCK_SIZES:
            raise ValueError(f"block_size must be 32 or 128, got {self.block_size}.")
        if self.max_loss is None:
            return
        if self.calibration is None:
            raise ValueError("max_loss is a loss on texts: give calibration as well.")
        if not self.max_loss >= 0:
            raise ValueError(f"max_loss must be at least 0, got {self.max_loss}.")

    @property
    def int4_form(self) -> Int4Form:
        """The form of 4-bit weights."""
        return Int4Form(self.block_size, self.zero_points)

    def check_precision(self, quantize: str | None) -> None:
        """Raises a ValueError if a value has no meaning in a precision."""
        if quantize != "int4" and (self.block_size, self.zero_points) != (32, False):
            raise ValueError(
                f"block_size and zero_points are those of quantize='int4', got {quantize!r}: "
                "leave them out."
            )
        if quantize is None and self.calibration is not None:
            raise ValueError("calibration is of quantised weights: give quantize as well.")


def check_settings(
    directory: Path, *, target: str, quantize: str | None, opset: int, overwrite: bool
) -> None:
    """Raises an error for settings that fit no model; arguments are as for `export_onnx`.

    Raises:
        FileExistsError: The directory exists and `overwrite` is False, or it is not an artefact.
        ImportError: `target` is "native" and the operators are not compiled here.
        OSError: The directory cannot be made.
        ValueError: A setting is unknown or out of range, or two contradict each other.
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
