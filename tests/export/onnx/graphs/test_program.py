"""A decode step that consists of our operators alone is one operator, which makes several."""

from pathlib import Path
from typing import Any

import onnx
import pytest

from keras_transformer import DecoderConfig
from keras_transformer.export import export_onnx
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.text.tokenizer import Tokenizer

SIZES = {"model_dim": 8, "feed_forward_dim": 12, "num_heads": 4, "num_layers": 1}
FORMS: dict[str, dict[str, Any]] = {
    "gpt2-tiny": {},
    "llama-tiny": {"num_key_value_heads": 2},
    # As Gemma has them.
    "norms on both sides, a gate of GELU": {
        "num_key_value_heads": 2,
        "norm": "both",
        "activation": "gelu_tanh",
        "scale_embeddings": True,
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_a_step_of_what_our_operators_hold_is_one_of_them(
    form: str, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    preset = form if form in DecoderConfig.presets else "llama-tiny"
    size = tokenizer.vocab_size
    config = DecoderConfig.preset(preset, vocab_size=size, **{**SIZES, **FORMS[form]})
    export_onnx(build_decoder(config), tokenizer, tmp_path / "made", target="native")
    for name, operator in {"greedy": "GreedySteps", "decoder": "BeamSteps"}.items():
        model = onnx.load(tmp_path / "made" / f"{name}.onnx", load_external_data=False)
        assert [node.op_type for node in model.graph.node] == [operator]
