"""Checks that an exported graph is valid, and that it has only the operators of its target."""

from pathlib import Path

import onnx

from keras_transformer.export.onnx.graphs.operators import MICROSOFT, NATIVE


def check_operators(path: Path, *, portable: bool, native: bool = False) -> None:
    """Checks a graph with onnx, and that it has only the operators that its target allows.

    Args:
        path: The graph.
        portable: Whether only standard operators are allowed; if not, onnxruntime's are as well.
        native: Whether the operators of this package are allowed as well.

    Raises:
        ValueError: An operator is unknown or belongs to another domain; the message names it.
        onnx.checker.ValidationError: The graph breaks the ONNX specification.
    """
    model = onnx.load(str(path), load_external_data=False)
    # tf2onnx leaves a TensorFlow operator that it cannot convert unchanged.
    unknown = {node.op_type for node in model.graph.node if not node.domain}
    unknown = {name for name in unknown if not onnx.defs.has(name)}
    if unknown:
        raise ValueError(
            f"{path.name} needs {', '.join(sorted(unknown))}, which ONNX does not have: train "
            "with another activation, such as relu or gelu."
        )
    onnx.checker.check_model(str(path), full_check=portable)
    allowed = {""} if portable else {"", MICROSOFT} | ({NATIVE} if native else set())
    foreign = {node.op_type for node in model.graph.node if node.domain not in allowed}
    if foreign or model.functions:
        raise ValueError(f"{path.name} must not hold the operators {sorted(foreign)}.")
