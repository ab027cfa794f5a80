"""The form of an artefact: its target, precision and operator set, chosen from the settings and the
model.
"""

import logging
from dataclasses import dataclass

from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.layers.attention.kinds import is_fused
from keras_transformer.export.onnx.settings import FASTEST
from keras_transformer.runtime.onnx_graphs.operators import operators_version

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Form:
    """The form in which graphs are written.

    Attributes:
        target: One of the manifest's targets.
        precision: One of `settings.PRECISIONS`.
        opset: Version of the standard operators.
        fallback: Why the target is not the one that was requested; None otherwise.
        has_native: Whether there are graphs for "native" beside those for `target`.
        has_adapters: Whether graphs take adapters.
    """

    target: str
    precision: str
    opset: int
    fallback: str | None = None
    has_native: bool = False
    has_adapters: bool = False

    @classmethod
    def choose(cls, model: AnyModel, target: str, quantize: str | None, opset: int) -> "Form":
        """Chooses the form of a model's graphs; arguments are as for `export_onnx`.

        Raises:
            ValueError: No target supports the model in this precision.
        """
        precision = quantize or "float32"
        if precision == "float16" and target != "portable":
            reason = "onnxruntime's fused operators have no float16 form for every provider"
            return cls("portable", precision, opset, reason)
        if target in ("native", FASTEST) and not is_fused(model.config):
            config = model.config
            widths = f"key_dim ({config.key_dim}) differs from value_dim ({config.value_dim})"
            if precision == "bfloat16":
                raise ValueError(
                    f"{widths}, but quantize='bfloat16' needs them to be equal: export in another "
                    "precision."
                )
            reason = f"{widths}, but this package's attention operators need them to be equal"
            return cls("onnxruntime", precision, opset, reason)
        if target != FASTEST:
            return cls(target, precision, opset)
        if precision == "bfloat16":
            reason = "onnxruntime has no matrix products in bfloat16 on a CPU"
            return cls("native", precision, opset, reason)
        try:
            operators_version()
        except ImportError as error:
            # The graphs could not be checked, nor the version of their operators recorded.
            _log.warning(
                "the artefact gets graphs for onnxruntime only, which may be slower: %s", error
            )
            return cls("onnxruntime", precision, opset, str(error))
        return cls("onnxruntime", precision, opset, has_native=True)
