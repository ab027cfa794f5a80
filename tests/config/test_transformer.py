"""The config: what it refuses, what it fills in, what it counts, and its JSON form."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.config import PRESETS, SpecialIds, TransformerConfig


def test_omitted_fields_follow_from_others() -> None:
    config = TransformerConfig(source_vocab_size=30, model_dim=12, num_heads=3)
    assert (config.target_vocab_size, config.key_dim, config.value_dim) == (30, 4, 4)


def test_given_head_widths_stand() -> None:
    config = TransformerConfig(
        source_vocab_size=30, model_dim=10, num_heads=3, key_dim=7, value_dim=2
    )
    assert (config.key_dim, config.value_dim) == (7, 2)


def test_as_many_heads_of_keys_as_of_queries_are_the_default() -> None:
    default = TransformerConfig(source_vocab_size=30)
    assert default == TransformerConfig(source_vocab_size=30, num_key_value_heads=8)
    assert default.key_value_heads == 8
    assert TransformerConfig(source_vocab_size=30, num_key_value_heads=2).key_value_heads == 2


def test_a_config_cannot_be_changed() -> None:
    config = TransformerConfig(source_vocab_size=30)
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.model_dim = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source_vocab_size": 4}, "source_vocab_size must be at least 5, got 4"),
        ({"target_vocab_size": 0}, "target_vocab_size must be at least 5, got 0"),
        ({"model_dim": 0}, "model_dim must be at least 1, got 0"),
        ({"num_encoder_layers": -1}, "num_encoder_layers must be at least 1, got -1"),
        ({"model_dim": 10, "num_heads": 3}, r"model_dim \(10\) .* num_heads \(3\).*key_dim"),
        (
            {"model_dim": 10, "num_heads": 3, "key_dim": 4},
            r"model_dim \(10\) .* num_heads \(3\).*value_dim",
        ),
        ({"dropout": 1.0}, r"dropout is a probability in \[0, 1\), got 1.0"),
        ({"attention_dropout": -0.1}, r"attention_dropout .*got -0.1"),
        ({"activation_dropout": 1.0}, r"activation_dropout .*got 1.0"),
        ({"dropout": float("nan")}, "dropout .*got nan"),
        ({"layer_norm_epsilon": 0.0}, "layer_norm_epsilon must lie between 0 and 1, got 0.0"),
        ({"norm_kind": "batch"}, "norm_kind must be one of layer_norm, rms_norm, got 'batch'"),
        ({"num_key_value_heads": 0}, "num_key_value_heads must be at least 1, got 0"),
        ({"num_key_value_heads": 3}, r"num_heads \(8\) .* num_key_value_heads \(3\)"),
        (
            {"rotary_base": 100.0, "relative_sinusoids": True},
            "relative_sinusoids .* rotary_base must be None, got 100.0",
        ),
        ({"decoder_recurrence": "lstm"}, "decoder_recurrence must be .*ssru.*, got 'lstm'"),
        ({"relative_per_block": True}, "relative_per_block needs relative_buckets, got None"),
        (
            {"relative_buckets": 8, "relative_max_distance": 1 << 31},
            "relative_max_distance must be at most 1048576, got 2147483648",
        ),
        ({"rotary_base": 1.0}, "rotary_base must be above 1 and finite, got 1.0"),
        ({"rotary_base": float("nan")}, "rotary_base must be above 1 and finite, got nan"),
        ({"rotary_base": 10_000.0, "key_dim": 5}, "rotary_base needs an even key_dim.*key_dim=5"),
        ({"norm": "middle"}, "norm must be one of post, pre, both, output, got 'middle'"),
        (
            {"positions": "rotary"},
            "positions must be one of sinusoidal, learned, none, got 'rotary'",
        ),
        ({"share_embeddings": "some"}, "share_embeddings must be one of all, target, none"),
        ({"target_vocab_size": 40}, "source_vocab_size is 30 and target_vocab_size 40.*'target'"),
        ({"positions": "learned"}, "max_positions is needed with positions='learned'"),
        ({"max_positions": 9}, "positions='sinusoidal' and max_positions=9"),
        (
            {"sinusoid_layout": "thirds"},
            "sinusoid_layout must be one of interleaved, halves, tensor2tensor, got 'thirds'",
        ),
        (
            {"sinusoid_layout": "tensor2tensor", "model_dim": 2, "num_heads": 1},
            "'tensor2tensor' needs embeddings of an even width of at least 4, got 2",
        ),
        (
            {"sinusoid_layout": "tensor2tensor", "positions": "none"},
            "'tensor2tensor' needs positions='sinusoidal', got positions='none'",
        ),
    ],
)
def test_a_value_out_of_range_is_named(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TransformerConfig(**{"source_vocab_size": 30, **fields})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model_dim": 12.0}, "model_dim must be an integer, got 12.0"),
        ({"num_heads": True}, "num_heads must be an integer, got True"),
        ({"num_heads": None}, "num_heads must be an integer, got None"),
        ({"source_vocab_size": "30"}, "source_vocab_size must be an integer, got '30'"),
        ({"use_bias": 1}, "use_bias must be True or False, got 1"),
        ({"gated_feed_forward": "yes"}, "gated_feed_forward must be True or False, got 'yes'"),
        ({"scale_attention": None}, "scale_attention must be True or False, got None"),
        ({"num_key_value_heads": 2.0}, "num_key_value_heads must be an integer, got 2.0"),
        ({"rotary_base": "10000"}, "rotary_base must be a number, got '10000'"),
        ({"dropout": "0.1"}, "dropout must be a number, got '0.1'"),
        ({"activation": 3}, "activation must be the name of a Keras activation, got 3"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(fields: dict, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        TransformerConfig(**{"source_vocab_size": 30, **fields})


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("tiny", (128, 256, 4, 4, 4, 0.15)),
        ("base", (512, 2048, 8, 6, 6, 0.1)),
        ("big", (1024, 4096, 16, 6, 6, 0.3)),
    ],
)
def test_presets_have_the_published_sizes_and_the_recipes_dropout(name: str, sizes: tuple) -> None:
    config = TransformerConfig.preset(name, vocab_size=100)
    assert sizes == (
        config.model_dim,
        config.feed_forward_dim,
        config.num_heads,
        config.num_encoder_layers,
        config.num_decoder_layers,
        config.dropout,
    )


@pytest.mark.parametrize("name", ["base", "big"])
def test_the_papers_presets_are_post_norm_and_share_one_matrix(name: str) -> None:
    config = TransformerConfig.preset(name, vocab_size=100)
    assert (config.norm, config.positions, config.share_embeddings) == ("post", "sinusoidal", "all")


def test_a_preset_takes_overrides() -> None:
    config = TransformerConfig.preset("tiny", vocab_size=100, num_heads=8, activation="gelu")
    assert (config.num_heads, config.key_dim, config.activation) == (8, 16, "gelu")


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(ValueError, match="preset must be one of tiny, small, base, big.*'huge'"):
        TransformerConfig.preset("huge", vocab_size=100)


def test_parameter_counts_are_the_papers() -> None:
    """Table 3 gives 65 and 213 million, with "about 37,000" shared pieces (section 5.1)."""
    base = TransformerConfig.preset("base", vocab_size=37_000).parameter_count
    big = TransformerConfig.preset("big", vocab_size=37_000).parameter_count
    # Attention 4(D² + D), feed-forward 2DF + F + D, norms 2D each: 6 × 3,152,384 + 6 × 4,204,032.
    assert base == 6 * 3_152_384 + 6 * 4_204_032 + 37_000 * 512 == 63_082_496
    assert base == pytest.approx(65e6, rel=0.03)
    assert big == pytest.approx(213e6, rel=0.015)


@pytest.mark.parametrize("name", PRESETS)
def test_json_round_trip(name: str) -> None:
    config = TransformerConfig.preset(name, vocab_size=100)
    assert TransformerConfig.from_json(config.to_json()) == config
    assert json.loads(config.to_json()) == config.to_dict()


@given(
    heads=st.integers(1, 4),
    width=st.integers(1, 8),
    norm=st.sampled_from(["post", "pre"]),
    max_positions=st.none() | st.integers(1, 100),
    sharing=st.sampled_from(["all", "target", "none"]),
    dropout=st.floats(0, 0.99),
)
def test_any_valid_config_survives_json(heads, width, norm, max_positions, sharing, dropout):
    config = TransformerConfig(
        source_vocab_size=20,
        target_vocab_size=20 if sharing == "all" else 31,
        model_dim=heads * width,
        num_heads=heads,
        norm=norm,
        positions="sinusoidal" if max_positions is None else "learned",
        max_positions=max_positions,
        share_embeddings=sharing,
        dropout=dropout,
    )
    assert TransformerConfig.from_json(config.to_json()) == config


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(ValueError, match=r"unknown config field\(s\) emb_dim: expected only .*"):
        TransformerConfig.from_dict({"source_vocab_size": 30, "emb_dim": 8})


def test_load_reads_a_file(tmp_path) -> None:
    config = TransformerConfig.preset("small", vocab_size=100)
    (tmp_path / "config.json").write_text(config.to_json(), encoding="utf-8")
    assert TransformerConfig.load(tmp_path / "config.json") == config


def test_numpys_numbers_become_pythons() -> None:
    fields = {"source_vocab_size": 30, "model_dim": 8, "num_heads": 2, "num_encoder_layers": 1}
    given = {name: np.int64(value) for name, value in fields.items()}
    ids = SpecialIds(pad=np.int32(7))
    config = TransformerConfig(**given, dropout=np.float32(0.25), special_ids=ids)
    expected = TransformerConfig(**fields, dropout=0.25, special_ids=SpecialIds(pad=7))
    assert config == expected
    assert config.to_json() == expected.to_json()


def test_a_recurrence_leaves_the_decoder_nothing_that_reads_distances() -> None:
    relative = {"relative_buckets": 8, "relative_per_block": True}
    config = TransformerConfig(source_vocab_size=30, decoder_recurrence="ssru", **relative)
    assert config.encoder.blocks[0].relative_bias.per_block
    assert config.decoder.blocks[0].relative_bias is None
