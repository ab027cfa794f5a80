"""A decode step that consists of our operators alone is one operator, which makes several."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import pytest

from keras_transformer import DecoderConfig, OnnxGenerator
from keras_transformer.artefact.manifest import Manifest
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
    "norms of queries and keys, as Qwen 3": {"num_key_value_heads": 2, "query_key_norm": True},
    "norms of all heads, as OLMo 2": {
        "norm": "output",
        "num_key_value_heads": 2,
        "query_key_norm": True,
        "query_key_norm_over": "all_heads",
    },
    "layer norms of queries and keys": {"query_key_norm": True, "norm_kind": "layer_norm"},
    "windows in turn, as Gemma 3": {
        "num_layers": 2,
        "query_key_norm": True,
        "block_pattern": ({"window": 2}, {"rotary_base": 1000.0}),
    },
    "caps of scores and of logits, windows in turn, as Gemma 2": {
        "num_layers": 2,
        "norm": "both",
        "num_key_value_heads": 2,
        "attention_soft_cap": 2.0,
        "final_logit_soft_cap": 3.0,
        "block_pattern": ({"window": 4}, {}),
    },
    "relative biases, as T5's decoder": {"rotary_base": None, "relative_buckets": 8},
    "windows, in one operator of a sub-layer": {
        **dict.fromkeys(("rotary_base", "num_key_value_heads")),
        **{"norm": "post", "norm_kind": "layer_norm", "window": 2},
    },
    "a head of its own, with biases": {"tied_head": False, "logit_bias": True},
}


PROMPTS = [[first, first + 5, 40 - first] for first in range(6, 26)]
# In int8 so small a vocabulary is not multiplied by ours.
CASES = [(form, None) for form in FORMS]
CASES += [("norms of queries and keys, as Qwen 3", one) for one in ("bfloat16", "int4")]


@pytest.fixture(scope="module")
def export(
    randomize: Callable[..., Any], tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str | None], Path]:
    """`export(form, quantize)` gives the path of an artefact, made once."""

    @cache
    def made(form: str, quantize: str | None) -> Path:
        preset = form if form in DecoderConfig.presets else "llama-tiny"
        size = tokenizer.vocab_size
        config = DecoderConfig.preset(preset, vocab_size=size, **{**SIZES, **FORMS[form]})
        model = randomize(build_decoder(config), scale=0.3)
        return export_onnx(
            model, tokenizer, tmp_path_factory.mktemp("made") / "a", quantize=quantize
        )

    return made


@pytest.mark.parametrize(("form", "quantize"), CASES)
def test_a_step_of_what_our_operators_hold_is_one_of_them(
    form: str, quantize: str | None, export: Callable[[str, str | None], Path]
) -> None:
    path = export(form, quantize)
    graphs = Manifest.read(path).of_target("native").graphs
    for name, operator in {"greedy": "GreedySteps", "decoder": "BeamSteps"}.items():
        model = onnx.load(path / graphs[name].file, load_external_data=False)
        assert [node.op_type for node in model.graph.node] == [operator]


@pytest.mark.parametrize("form", FORMS)
def test_several_steps_find_what_onnxruntime_s_operators_find(
    form: str, export: Callable[[str, str | None], Path]
) -> None:
    path = export(form, None)
    generators = [OnnxGenerator(path, target=one, threads=1) for one in ("onnxruntime", "native")]
    for options in ({}, {"beam_size": 3}):
        expected, found = (
            one.generate_ids(PROMPTS, max_length=24, min_length=24, **options) for one in generators
        )
        ids, theirs = ([one[0].ids for one in rows] for rows in (found, expected))
        assert ids == theirs
        assert len({one for row in ids for one in row}) > 8  # Not a few over and over.
