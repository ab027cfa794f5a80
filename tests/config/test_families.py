"""The configs of models with one stack: what they refuse, fill in and count, and their JSON form;
and the one reader of every family's values.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import config_from_dict, load_config

CONFIGS = (EncoderConfig, DecoderConfig)
PRESETS = [(kind, name) for kind in CONFIGS for name in kind.presets]
every_config = pytest.mark.parametrize("kind", CONFIGS)
every_preset = pytest.mark.parametrize(("kind", "name"), PRESETS)
EMBEDS = {"head": "embedding"}


@pytest.mark.parametrize(
    ("kind", "name", "vocab_size", "count"),
    [
        (EncoderConfig, "bert-base", 30_522, 109_482_240),
        (EncoderConfig, "bert-large", 30_522, 335_141_888),
        (DecoderConfig, "gpt2", 50_257, 124_439_808),
        (DecoderConfig, "gpt2-medium", 50_257, 354_823_168),
    ],
)
def test_presets_have_the_published_models_parameters(
    kind: Any, name: str, vocab_size: int, count: int
) -> None:
    """Devlin et al. 2018, section 3, give 110 and 340 million; Radford et al. 2019, Table 2, gave
    117 and 345 million, which their README corrects to 124 and 355.
    """
    assert kind.preset(name, vocab_size=vocab_size).parameter_count == count
    published = {"bert-base": 110e6, "bert-large": 340e6, "gpt2": 124e6, "gpt2-medium": 355e6}
    assert count == pytest.approx(published[name], rel=0.015)


@pytest.mark.parametrize(
    ("kind", "name", "sizes"),
    [
        (EncoderConfig, "bert-tiny", (128, 512, 2, 2, 512)),
        (EncoderConfig, "bert-base", (768, 3072, 12, 12, 512)),
        (EncoderConfig, "bert-large", (1024, 4096, 16, 24, 512)),
        (DecoderConfig, "gpt2-tiny", (128, 512, 4, 4, 512)),
        (DecoderConfig, "gpt2", (768, 3072, 12, 12, 1024)),
        (DecoderConfig, "gpt2-medium", (1024, 4096, 16, 24, 1024)),
        (DecoderConfig, "llama-tiny", (128, 344, 4, 4, None)),
    ],
)
def test_presets_have_the_published_sizes(kind: Any, name: str, sizes: tuple) -> None:
    config = kind.preset(name, vocab_size=100)
    names = ("model_dim", "feed_forward_dim", "num_heads", "num_layers", "max_positions")
    assert tuple(getattr(config, name) for name in names) == sizes


def test_bert_and_gpt2_have_their_blocks() -> None:
    bert = EncoderConfig.preset("bert-base", vocab_size=100)
    gpt2 = DecoderConfig.preset("gpt2", vocab_size=100)
    assert (bert.norm, bert.activation, bert.num_token_types, bert.pooler) == (
        "post",
        "gelu",
        2,
        True,
    )
    assert (gpt2.norm, gpt2.activation, gpt2.tied_head) == ("pre", "gelu_tanh", True)
    assert bert.layer_norm_epsilon == 1e-12
    assert (bert.dropout, bert.attention_dropout, gpt2.dropout, gpt2.attention_dropout) == (
        (0.1,) * 4
    )


@every_preset
def test_json_round_trip(kind: Any, name: str, tmp_path) -> None:
    config = kind.preset(name, vocab_size=100, special_ids=SpecialIds(mask=4))
    assert kind.from_json(config.to_json()) == config
    assert json.loads(config.to_json()) == config.to_dict()
    assert config_from_dict(config.to_dict()) == config
    (tmp_path / "config.json").write_text(config.to_json(), encoding="utf-8")
    assert load_config(tmp_path / "config.json") == kind.load(tmp_path / "config.json") == config


def test_labels_come_back_from_json_as_they_were() -> None:
    config = EncoderConfig(vocab_size=30, head="classification", labels=("ja", "nein"))
    again = config_from_dict(json.loads(config.to_json()))
    assert again == config
    assert again.labels == ("ja", "nein")


def test_values_without_a_family_are_a_transformers() -> None:
    config = TransformerConfig.preset("tiny", vocab_size=100)
    assert "family" not in config.to_dict()
    assert config_from_dict(config.to_dict()) == config


def test_an_unknown_family_is_named() -> None:
    with pytest.raises(ValueError, match="family must be 'encoder', 'decoder' or absent|got 'cnn'"):
        config_from_dict({"family": "cnn", "vocab_size": 30})


def test_another_familys_values_are_refused() -> None:
    values = DecoderConfig(vocab_size=30).to_dict()
    with pytest.raises(ValueError, match="family must be 'encoder', got 'decoder'"):
        EncoderConfig.from_dict(values)


@every_config
def test_an_unknown_field_is_named(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"unknown config field\(s\) emb_dim: expected only .*"):
        kind.from_dict({"vocab_size": 30, "emb_dim": 8})


@every_config
def test_an_unknown_preset_is_named(kind: Any) -> None:
    with pytest.raises(ValueError, match=rf"preset must be one of {', '.join(kind.presets)}, got"):
        kind.preset("huge", vocab_size=100)


@every_config
def test_a_preset_takes_overrides(kind: Any) -> None:
    for name in kind.presets:
        config = kind.preset(name, vocab_size=100, num_layers=1, dropout=0.3)
        assert (config.num_layers, config.dropout, config.stack.num_layers) == (1, 0.3, 1)


@every_config
def test_a_config_cannot_be_changed(kind: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        kind(vocab_size=30).model_dim = 3


@every_config
@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"vocab_size": 4}, ValueError, "vocab_size must be at least 5, got 4"),
        ({"vocab_size": "30"}, TypeError, "vocab_size must be an integer, got '30'"),
        ({"num_layers": 0}, ValueError, "num_layers must be at least 1, got 0"),
        ({"positions": "rotary"}, ValueError, "positions must be one of sinusoidal, learned, none"),
        ({"max_positions": None}, ValueError, "max_positions is needed with positions='learned'"),
        ({"positions": "none"}, ValueError, "positions='none' and max_positions=(512|1024)"),
        ({"max_positions": 0}, ValueError, "max_positions must be at least 1, got 0"),
        ({"scale_embeddings": 1}, TypeError, "scale_embeddings must be True or False, got 1"),
        ({"special_ids": (0, 1)}, TypeError, r"special_ids must be SpecialIds, got \(0, 1\)"),
        ({"special_ids": SpecialIds(pad=30)}, ValueError, "names the id 30, but .* 0 to 29"),
        ({"num_heads": 7}, ValueError, r"model_dim \(768\) is not a multiple of num_heads \(7\)"),
    ],
)
def test_what_cannot_be_is_named(kind: Any, fields: dict, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        kind(**{"vocab_size": 30, **fields})


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"head": "nsp"}, ValueError, "head must be one of masked_lm, .*, got 'nsp'"),
        ({"pooling": "cls"}, ValueError, "pooling must be one of first, max, .*, got 'cls'"),
        ({"pooling": "max+cls"}, ValueError, "pooling must be one of first, .*, got 'cls'"),
        ({"pooling": "max+max"}, ValueError, r"each of its poolings once, got 'max\+max'"),
        ({"pooling": None}, ValueError, "pooling must be one of .*, got None"),
        ({"dense": 3}, TypeError, "dense must be a sequence of DenseConfig, got 3"),
        ({"dense": (4,), **EMBEDS}, TypeError, "dense must hold DenseConfig, got 4"),
        ({"dense": ({"out_dim": 0},), **EMBEDS}, ValueError, "dense.out_dim must be at least 1"),
        ({"dense": ({"out_dim": 4},)}, ValueError, "dense needs head='embedding', got head=None"),
        ({"text_state": "last"}, ValueError, "text_state must be one of"),
        (
            {"masked_activation": "cosh"},
            ValueError,
            "masked_activation must be one of gelu, .*cosh",
        ),
        ({"head_transform": 1}, TypeError, "head_transform must be True or False, got 1"),
        ({"value_activation": "tanh"}, ValueError, "value_activation must be one of"),
        (
            {"value_activation": "sigmoid"},
            ValueError,
            "value_activation='sigmoid' needs head='regression', got head=None",
        ),
        ({"multi_label": 1}, TypeError, "multi_label must be True or False, got 1"),
        ({"multi_label": True}, ValueError, "multi_label needs head='classification' and one"),
        ({"pair_separators": 3}, ValueError, "pair_separators must be 1 or 2, got 3"),
        ({"pair_separators": "2"}, TypeError, "pair_separators must be an integer, got '2'"),
        ({"prompts": ["a"]}, TypeError, r"prompts must be a mapping .*, got \['a'\]"),
        ({"prompts": {"a": 1}}, TypeError, "prompts must be a mapping of names to texts"),
        ({"prompts": {"": "a"}}, ValueError, "prompts must have names"),
        (
            {"prompts": {"a": "b"}, "default_prompt": "c"},
            ValueError,
            "default_prompt must be one of 'a', got 'c'",
        ),
        ({"num_token_types": -1}, ValueError, "num_token_types must be at least 0, got -1"),
        ({"embedding_norm": None}, TypeError, "embedding_norm must be True or False, got None"),
        ({"pooler": "yes"}, TypeError, "pooler must be True or False, got 'yes'"),
        ({"head": "tagging"}, ValueError, "labels, two or more, .*head='tagging' and 0 labels"),
        ({"head": "classification", "labels": ("a",)}, ValueError, "two or more.* 1 labels"),
        ({"labels": ("a", "b")}, ValueError, "only there, got head=None and 2 labels"),
        ({"head": "tagging", "labels": ("a", "a")}, ValueError, "labels must differ"),
        ({"head": "tagging", "labels": "ab"}, TypeError, "labels must be a sequence .*got 'ab'"),
        (
            {"head": "classification", "labels": ("a", "b"), "crf": True},
            ValueError,
            "crf needs head",
        ),
        (
            {"head": "tagging", "labels": ("a", "b"), "crf": 1},
            TypeError,
            "crf must be True or False",
        ),
        ({"head": "tagging", "labels": 3}, TypeError, "labels must be a sequence .*got 3"),
        ({"head": "tagging", "labels": (1, 2)}, TypeError, r"labels must be strings, got \(1, 2\)"),
    ],
)
def test_what_an_encoder_cannot_have_is_named(fields: dict, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        EncoderConfig(**{"vocab_size": 30, **fields})


def test_a_decoders_head_is_tied_or_not() -> None:
    with pytest.raises(TypeError, match="tied_head must be True or False, got 0"):
        DecoderConfig(vocab_size=30, tied_head=0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("head", "has_pooler"),
    [
        (None, True),
        ("classification", True),
        ("regression", True),
        ("masked_lm", False),
        ("pretraining", True),
        ("tagging", False),
        ("spans", False),
        ("embedding", False),
    ],
)
def test_only_what_reads_a_whole_text_has_a_pooler(head: Any, has_pooler: bool) -> None:
    labels = ("a", "b") if head in ("classification", "tagging") else ()
    fields: dict[str, Any] = {"vocab_size": 30, "head": head, "labels": labels}
    assert EncoderConfig(**fields).has_pooler == has_pooler
    assert not EncoderConfig(**fields, pooler=False).has_pooler


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b'{"family": "x"}'])
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"config\.json: "):
        load_config(tmp_path / "config.json")
