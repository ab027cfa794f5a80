"""Our own operators in float32 share their weights with the graphs of onnxruntime's operators."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_transformer.export import export_onnx
from keras_transformer.text.tokenizer import Tokenizer


def test_both_kinds_of_graphs_share_the_weights(
    make_model: Callable[..., Any],
    randomize: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
) -> None:
    # Wide enough that weights of layers outweigh what one kind of graph has alone.
    sizes = {"model_dim": 64, "feed_forward_dim": 256, "num_encoder_layers": 3}
    model = randomize(make_model(**sizes), seed=1)
    path = export_onnx(model, tokenizer, tmp_path / "a")
    plain = export_onnx(model, tokenizer, tmp_path / "b", target="onnxruntime")
    sizes_of = [(one / "weights.bin").stat().st_size for one in (path, plain)]
    assert sizes_of[0] < 1.1 * sizes_of[1]
