"""What is written for Marian and Hugging Face is the same model when it is read again: numbers,
ids and texts; options of a search go along with a run.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.export import export_pretrained
from keras_transformer.pretrained.recognise import from_pretrained, read_pretrained
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.transfer.import_run import import_run
from tools.covering import some

T5 = {
    "norm": "pre",
    "norm_kind": "rms_norm",
    "layer_norm_epsilon": 1e-6,
    "use_bias": False,
    "scale_attention": False,
    "positions": "none",
    "scale_embeddings": False,
    "relative_buckets": 8,
    "relative_max_distance": 20,
    "key_dim": 6,
    "value_dim": 6,
}
T5GEMMA = {
    "norm": "both",
    "norm_kind": "rms_norm",
    "use_bias": False,
    "positions": "none",
    "rotary_base": 100.0,
    "activation": "gelu_tanh",
    "gated_feed_forward": True,
    "attention_soft_cap": 5.0,
    "share_embeddings": "none",
    "block_pattern": ({"window": 3}, {}),
    "encoder_pattern": ({}, {"window": 2}),
    "marks": SentenceMarks(source_eos=False),
}
HUGGINGFACE: dict[str, tuple[str, dict[str, Any]]] = {
    "paper": ("marian", {}),
    "halves": (
        "marian",
        {"sinusoid_layout": "halves", "activation": "silu", "scale_embeddings": False},
    ),
    "bias": ("marian", {"logit_bias": True, "activation": "gelu"}),
    "pre": ("pegasus", {"norm": "pre"}),
    "relative": ("t5", T5),
    "squared": ("t5", {**T5, "gated_feed_forward": True, "activation": "squared_relu"}),
    "gated": (
        "t5",
        {
            **T5,
            "gated_feed_forward": True,
            "activation": "gelu_tanh",
            "share_embeddings": "none",
        },
    ),
    "per block": ("umt5", {**T5, "relative_per_block": True}),
    "local": ("longt5", {**T5, "encoder_pattern": ({"window": 3},)}),
    "windows in turn": ("t5gemma", T5GEMMA),
}
MARIAN: dict[str, dict[str, Any]] = {
    "post": {"activation": "silu"},
    "pre": {"norm": "pre", "activation": "gelu"},
    "target": {"share_embeddings": "target"},
    "separate": {"share_embeddings": "none"},
    "ssru": {"decoder_recurrence": "ssru"},
    "ssru, pre": {"decoder_recurrence": "ssru", "norm": "pre", "share_embeddings": "target"},
}
HOSTILE = ["", "a  small   house", "Xyz!", "hello, hello", "\u00e9 the river"]


def same(model: Any, again: Any, numbers: Callable[..., Any]) -> None:
    """Checks that two models give the same logits at real tokens."""
    source_ids, target_ids = numbers(model.config)
    inputs = {"source_ids": source_ids, "target_ids": target_ids}
    kept = target_ids != model.config.special_ids.pad
    kept[:, 0] = True
    found, expected = (np.asarray(one(inputs))[kept] for one in (again, model))
    np.testing.assert_allclose(found, expected, atol=2e-5)


@pytest.mark.parametrize(
    "name", some(HUGGINGFACE, "bias", "pre", "gated", "per block", "local", "windows in turn")
)
def test_hugging_face_s_is_the_same_model(
    name: str,
    translator_of: Callable[..., Any],
    numbers: Callable[..., Any],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    kind, fields = HUGGINGFACE[name]
    model = translator_of(tokenizer, **fields)
    written = export_pretrained(model, tmp_path / "out", format="huggingface", tokenizer=tokenizer)
    config = json.loads((written / "config.json").read_text())
    assert config["model_type"] == kind
    again, source, target = from_pretrained(written)
    same(model, again, numbers)
    assert again.config.special_ids == model.config.special_ids
    for side in (source, target):
        assert side.encode([*texts, *HOSTILE]) == tokenizer.encode([*texts, *HOSTILE])
    generation = json.loads((written / "generation_config.json").read_text())
    assert generation["bad_words_ids"] == [[0], [2]]


@pytest.mark.parametrize("name", some(MARIAN, "separate", "ssru, pre"))
def test_marian_s_is_the_same_model(
    name: str,
    marian_model: Callable[..., Any],
    numbers: Callable[..., Any],
    marian_tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    model = marian_model(**MARIAN[name])
    written = export_pretrained(
        model, tmp_path / "out", format="marian", tokenizer=marian_tokenizer
    )
    again, source, target = from_pretrained(written)
    same(model, again, numbers)
    assert again.config == model.config
    assert source is target
    assert source.encode([*texts, *HOSTILE]) == marian_tokenizer.encode([*texts, *HOSTILE])


def test_marian_has_no_row_for_the_padding(
    marian_model: Callable[..., Any], marian_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    written = export_pretrained(
        marian_model(), tmp_path / "out", format="marian", tokenizer=marian_tokenizer
    )
    rows = marian_tokenizer.vocab_size - 1
    with np.load(written / "model.npz") as file:
        assert file["Wemb"].shape == (rows, 16)
        assert file["decoder_ff_logit_out_b"].shape == (1, rows)
    assert Tokenizer.load(written / "vocab.spm").subwords.size == rows


def test_what_a_run_searches_with_goes_along(
    translator_of: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = translator_of(tokenizer)
    first = export_pretrained(model, tmp_path / "a", format="huggingface", tokenizer=tokenizer)
    values = json.loads((first / "generation_config.json").read_text())
    (first / "generation_config.json").write_text(json.dumps({**values, "num_beams": 3}))
    run = import_run(first, tmp_path / "run")
    # What their beam search takes where nothing is said.
    own = {"beam_size": 3, "length_penalty": 1.0, "length_penalty_type": "exponent"}
    assert RunDirectory(run).load_search() == own
    second = export_pretrained(run, tmp_path / "b", format="huggingface")
    assert read_pretrained(second).search == own
    for name in ("config.json", "vocab.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    ours, again = (read_pretrained(path).tensors for path in (first, second))
    assert all(np.array_equal(ours[name], again[name]) for name in ours)
