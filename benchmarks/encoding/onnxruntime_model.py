"""BERT's plain graph as `onnxruntime.transformers` optimizes it, as it is or with dynamic int8. The
optimizer needs sympy, which onnxruntime does not install.
"""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers.optimizer import optimize_model

from keras_transformer.config.encoder_only import EncoderConfig

from .plain_graph import plain_graph

FILE = "model.onnx"
# What the optimizer must have found in every block, or it was not given what it fuses.
_PER_BLOCK = {"Attention": 1, "BiasGelu": 1, "SkipLayerNormalization": 2}


def write_optimized(
    weights: Mapping[str, np.ndarray], config: EncoderConfig, directory: Path, precision: str
) -> None:
    """Writes `model.onnx`.

    Args:
        weights: From `named_weights`.
        config: The model's config.
        directory: Where to write; it must not exist.
        precision: "float32" or "int8".

    Raises:
        RuntimeError: The optimizer did not fuse all blocks.
    """
    sizes = (config.num_layers, config.num_heads, config.layer_norm_epsilon)
    directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=directory) as temporary:
        plain = Path(temporary) / "plain.onnx"
        onnx.save(plain_graph(weights, *sizes), plain)
        # Level 0: only the Python fusions; sessions do the rest when they load it.
        optimized = optimize_model(
            str(plain), "bert", config.num_heads, config.model_dim, opt_level=0
        )
        optimized.change_graph_inputs_to_int32()
        _check(optimized.get_fused_operator_statistics(), config.num_layers)
        fused = Path(temporary) / "fused.onnx"
        optimized.save_model_to_file(str(fused))
        if precision == "int8":
            # ONNX's shape inference does not know the types that fused operators give.
            types = {"DefaultTensorType": onnx.TensorProto.FLOAT}
            quantize_dynamic(
                fused, directory / FILE, weight_type=QuantType.QInt8, extra_options=types
            )
        else:
            shutil.move(fused, directory / FILE)


def _check(found: Mapping[str, int], num_layers: int) -> None:
    wanted = {"EmbedLayerNormalization": 1}
    wanted.update({name: count * num_layers for name, count in _PER_BLOCK.items()})
    missing = {name: count for name, count in wanted.items() if found.get(name) != count}
    if missing:
        raise RuntimeError(
            f"onnxruntime.transformers fused {dict(found)}, but there are {missing} to fuse."
        )
