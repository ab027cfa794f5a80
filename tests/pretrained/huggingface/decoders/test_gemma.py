"""Gemma 2 and 3: which blocks a config means, as files old and new have it, what is refused."""

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.export import export_pretrained
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.gemma import GEMMAS
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.pretrained.tensor_files import Tensors

STACKS = Path(__file__).parents[3] / "fixtures" / "stacks"
FIXTURE = STACKS / "gemma3"
SLIDING, FULL = "sliding_attention", "full_attention"


def config_of(folder: Path = FIXTURE, **changes: Any) -> Any:
    """The config of a fixture with other fields; those that are ... are missing."""
    values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    gemma = GEMMAS[values["model_type"]]
    defaults = gemma.defaults
    given = {name: one for name, one in {**values, **changes}.items() if one is not ...}
    fields = {**defaults, **given}
    special = SpecialIds(pad=0, eos=1, bos=2, unk=3)
    return gemma.config(Fields(folder / "config.json", fields), special, Tensors({}, "weights"))


OLD = {
    "rope_parameters": ...,
    "layer_types": ...,
    "sliding_window_pattern": 2,
    "rope_theta": 1_000_000.0,
    "rope_local_base_freq": 10_000.0,
}


@pytest.mark.parametrize("changes", [{}, OLD, {"layer_types": ...}], ids=str)
def test_windows_take_turns_as_the_file_says(changes: dict[str, Any]) -> None:
    layers = config_of(num_hidden_layers=2, **changes).stack.layers
    # Six blocks are a turn if the file does not say.
    last = (None, 1_000_000.0) if "layer_types" not in changes or changes is OLD else (3, 10_000.0)
    places = [(block.own.window, block.own.rotary.base) for block in layers]
    assert places == [(3, 10_000.0), last]


LINEAR = {"rope_type": "linear", "factor": 8.0}


@pytest.mark.parametrize(
    "changes",
    [{**OLD, "rope_scaling": LINEAR}, {"rope_parameters": {FULL: LINEAR, SLIDING: {}}}],
    ids=str,
)
def test_only_blocks_without_a_window_have_scaled_angles(changes: dict[str, Any]) -> None:
    config = config_of(**{**changes, "layer_types": [SLIDING, FULL]})
    near, far = (block.own.rotary for block in config.stack.layers)
    assert (near.base, near.scaling) == (10_000.0, None)
    assert (far.base, far.scaling.factor) == (1_000_000.0, 8.0)


@pytest.mark.parametrize(
    ("kinds", "period"),
    [([SLIDING, SLIDING, FULL] * 2 + [SLIDING], 3), ([FULL] * 3, 1), ([FULL, SLIDING, SLIDING], 3)],
)
def test_the_shortest_turn_is_repeated(kinds: list[str], period: int) -> None:
    config = config_of(num_hidden_layers=len(kinds), layer_types=kinds)
    assert len(config.block_pattern) == period
    windows = [block.own.window for block in config.stack.layers]
    assert windows == [3 if kind == SLIDING else None for kind in kinds]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attn_logit_softcapping": 50.0}, "attn_logit_softcapping: 50.0, and only None"),
        ({"final_logit_softcapping": 30.0}, "final_logit_softcapping: 30.0"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention: True"),
        ({"layer_types": [FULL]}, "for each of the 2 blocks"),
        ({"layer_types": [FULL, "chunked_attention"]}, "chunked_attention"),
        ({"layer_types": [FULL, ["x"]]}, "layer_types"),
        ({"sliding_window": 0}, "sliding_window"),
        (
            {"rope_parameters": {FULL: {"rope_type": "mrope", "factor": 8.0}, SLIDING: {}}},
            "rope_parameters: full_attention has rotary positions of the type 'mrope'",
        ),
        ({"rope_parameters": {FULL: {}}}, "rope_parameters.* lacks the field sliding_attention"),
        ({**OLD, "rope_scaling": {"factor": 8.0}}, "rope_scaling has .* the type 'default'"),
    ],
    ids=str,
)
def test_what_nothing_computes_is_refused_by_its_field(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ImportRefusedError, match=message):
        config_of(**changes)


@pytest.mark.parametrize(
    "pattern",
    [
        ({"window": 2}, {"window": 3}),
        ({"window": 2}, {"window": 2, "rotary_base": 7.0}),
        ({}, {"rotary_base": 7.0}),
        ({}, {"rotary_base": None}),
        ({}, {"feed_forward_dim": 5}),
    ],
    ids=str,
)
def test_other_blocks_are_not_written(pattern: Any, tmp_path: Path) -> None:
    read = read_pretrained(FIXTURE)
    model = build_decoder(config_of().__class__(**{**vars(read.config), "block_pattern": pattern}))
    with pytest.raises(ValueError, match="differ by one window"):
        export_pretrained(
            model, tmp_path / "out", format="huggingface", tokenizer=read.tokenizers[0]
        )
    assert not (tmp_path / "out").exists()


def test_blocks_of_one_kind_come_back(tmp_path: Path) -> None:
    read = read_pretrained(FIXTURE)
    config = config_of(layer_types=[SLIDING] * 2)
    out = export_pretrained(
        build_decoder(config), tmp_path / "out", format="huggingface", tokenizer=read.tokenizers[0]
    )
    again = read_pretrained(out)
    ids = {"token_ids": np.array([[2, 9, 8, 7, 6, 5, 4]])}
    assert again.config.stack == config.stack
    assert np.isfinite(np.asarray(again.build()(ids))).all()


GEMMA_2 = STACKS / "gemma2"


@pytest.mark.parametrize("given", [..., None, 7.0])
def test_caps_are_those_of_the_file_or_of_the_first_gemma_2(given: Any) -> None:
    names = ("attn_logit_softcapping", "final_logit_softcapping", "layer_types")
    config = config_of(GEMMA_2, **dict.fromkeys(names[:2], given), layer_types=...)
    found = [config.attention_soft_cap, config.final_logit_soft_cap]
    assert found == ([50.0, 30.0] if given is ... else [given] * 2)
    assert [block.own.window for block in config.stack.layers] == [3, None]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attn_logit_softcapping": "50"}, "attn_logit_softcapping"),
        ({"attn_logit_softcapping": 0.0}, "attention_soft_cap must be positive"),
        ({"use_bidirectional_attention": True}, "use_bidirectional_attention: True"),
    ],
    ids=str,
)
def test_a_gemma_2_that_nothing_computes_is_refused(changes: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        config_of(GEMMA_2, **changes)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (({"window": 2}, {"rotary_base": 7.0}), "one rotary_base in all blocks"),
        (({"attention_soft_cap": 9.0},), "differ by one window"),
        (({}, {"attention_soft_cap": None}), "differ by one window"),
    ],
    ids=str,
)
def test_a_gemma_2_of_other_blocks_is_not_written(
    pattern: Any, message: str, tmp_path: Path
) -> None:
    read = read_pretrained(GEMMA_2)
    model = build_decoder(dataclasses.replace(read.config, block_pattern=pattern))
    with pytest.raises(ValueError, match=message):
        export_pretrained(
            model, tmp_path / "out", format="huggingface", tokenizer=read.tokenizers[0]
        )


def copied(path: Path, folder: Path, values: dict[str, Any], rename: Any = str) -> Path:
    """Copies a fixture with another config and other names of tensors; returns the copy."""
    shutil.copytree(folder, path, dirs_exist_ok=True)
    (path / "config.json").write_text(json.dumps(values))
    tensors = load_file(path / "model.safetensors")
    images = {"vision_tower.embeddings.weight": np.ones((2, 2), np.float32)}
    named = {rename(name): one for name, one in tensors.items()}
    save_file({**named, **(images if rename is not str else {})}, path / "model.safetensors")
    return path


def values_of(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("folder", [FIXTURE, GEMMA_2])
def test_queries_make_up_for_scores_that_are_divided_by_another_root(
    folder: Path, tmp_path: Path
) -> None:
    """Heads are 12 wide: scores divided by √3 are twice as large."""
    path = copied(tmp_path, folder, {**values_of(folder), "query_pre_attn_scalar": 3})
    own, other = (read_pretrained(one).build().decoder_stack.blocks[1] for one in (folder, path))
    first, second = (
        one.self_attention.query_linear.kernel
        if folder == GEMMA_2
        else one.self_attention.query_norm.gamma
        for one in (own, other)
    )
    np.testing.assert_allclose(second, 2 * np.asarray(first), rtol=1e-6)
    keys = (np.asarray(one.self_attention.key_linear.kernel) for one in (own, other))
    np.testing.assert_array_equal(*keys)


def test_a_root_of_no_number_is_refused(tmp_path: Path) -> None:
    path = copied(tmp_path, GEMMA_2, {**values_of(GEMMA_2), "query_pre_attn_scalar": -3})
    with pytest.raises(ImportRefusedError, match="query_pre_attn_scalar must be positive, is -3"):
        read_pretrained(path).build()


@pytest.mark.parametrize(
    "rename",
    [
        lambda name: f"language_model.{name}",
        lambda name: name.replace("model.", "model.language_model."),
    ],
    ids=["language_model.model", "model.language_model"],
)
def test_a_model_with_images_is_read_as_its_text(rename: Any, tmp_path: Path) -> None:
    values = {"model_type": "gemma3", "text_config": values_of(FIXTURE), "vision_config": {}}
    found = read_pretrained(copied(tmp_path, FIXTURE, values, rename))
    expected = read_pretrained(FIXTURE)
    assert found.config == expected.config
    model, other = found.build(), expected.build()
    for one, two in zip(model.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
    assert found.names_unused(model) == []
