"""Stacks of blocks: a pattern that layers repeat, and what its blocks must have in common."""

import dataclasses
from typing import Any

import pytest

from keras_transformer.config import BlockOptions, SharingConfig, StackConfig, TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig

OPTIONS: dict[str, Any] = {"model_dim": 8, "num_heads": 2, "feed_forward_dim": 16}


def block(**options: Any) -> Any:
    return BlockOptions(**OPTIONS, **options).block()


def test_layers_repeat_the_pattern() -> None:
    near, far = block(rotary_base=100.0), block(rotary_base=1000.0)
    stack = StackConfig(blocks=(near, near, far), num_layers=5)
    assert stack.layers == (near, near, far, near, near)


def test_parameters_are_those_of_each_layer() -> None:
    narrow, wide = block(), BlockOptions(**{**OPTIONS, "feed_forward_dim": 32}).block()
    # 8 columns and rows of 16 features more, and their biases.
    more = 16 * (8 + 8) + 16
    counts = [
        StackConfig(blocks=blocks, num_layers=3).parameter_count(8)
        for blocks in ((narrow,), (narrow, wide), (wide, narrow))
    ]
    assert counts == [counts[0], counts[0] + more, counts[0] + 2 * more]


def test_biases_of_distances_are_counted_once_or_in_each_layer_that_has_them() -> None:
    shared, own = (
        StackConfig(
            blocks=(block(relative_buckets=6, relative_per_block=per_block), block()), num_layers=3
        )
        for per_block in (False, True)
    )
    plain = StackConfig(blocks=(block(),), num_layers=3).parameter_count(8)
    assert shared.parameter_count(8) == plain + 6 * 2
    assert own.parameter_count(8) == plain + 2 * 6 * 2


def test_without_a_first_norm_only_the_first_block_lacks_one() -> None:
    both, one = (
        StackConfig(blocks=(block(norm="pre"),), num_layers=2, first_norm=first)
        for first in (True, False)
    )
    assert [layer.first_norm for layer in one.layers] == [False, True]
    assert both.parameter_count(8) - one.parameter_count(8) == 2 * 8


def test_the_first_norm_is_left_out_of_pre_norm_blocks_of_their_own() -> None:
    with pytest.raises(ValueError, match="first_norm=False needs norm='pre', got norm='post'"):
        EncoderConfig(vocab_size=9, first_norm=False)
    with pytest.raises(ValueError, match="block_groups must be None"):
        EncoderConfig(vocab_size=9, first_norm=False, norm="pre", block_groups=1)


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("norm", (block(norm="pre"), block(norm="post"))),
        ("shared relative bias", (block(relative_buckets=4), block(relative_buckets=6))),
        ("attention to a source", (block(), BlockOptions(**OPTIONS).block(attends_source=True))),
        ("kind of own", (block(), BlockOptions(**OPTIONS).block(recurrence="ssru"))),
    ],
)
def test_blocks_must_have_these_in_common(name: str, blocks: Any) -> None:
    with pytest.raises(ValueError, match=f"the blocks of a stack must have the same {name}"):
        StackConfig(blocks=blocks, num_layers=2)


def test_a_stack_has_blocks() -> None:
    with pytest.raises(ValueError, match="blocks must hold one block or more, got none"):
        StackConfig(blocks=(), num_layers=2)


@pytest.mark.parametrize(
    ("groups", "blocks_per_group", "expected"),
    [
        (1, 1, [0, 0, 0, 0, 0, 0]),
        (1, 2, [0, 1, 0, 1, 0, 1]),
        (3, 1, [0, 0, 1, 1, 2, 2]),
        (2, 3, [0, 1, 2, 3, 4, 5]),
    ],
)
def test_layers_of_a_group_apply_its_blocks_in_turn(
    groups: int, blocks_per_group: int, expected: list[int]
) -> None:
    near, far = block(window=2), block(window=5)
    stack = StackConfig(
        blocks=(near, far),
        num_layers=6,
        sharing=SharingConfig(groups=groups, blocks_per_group=blocks_per_group),
    )
    assert list(stack.block_of_layer) == expected
    assert stack.layers == tuple((near, far)[number % 2] for number in expected)


def test_shared_weights_are_counted_once() -> None:
    fields = {"vocab_size": 30, **OPTIONS, "relative_buckets": 8, "relative_per_block": True}
    one, deep = (
        EncoderConfig(num_layers=layers, block_groups=groups, **fields)
        for layers, groups in ((1, None), (4, 1))
    )
    assert deep.parameter_count == one.parameter_count
    assert EncoderConfig.from_json(deep.to_json()) == deep


def test_factorised_embeddings_are_refused_where_they_have_no_meaning() -> None:
    fields = {"vocab_size": 30, **OPTIONS}
    with pytest.raises(ValueError, match="embedding_dim must be at least 1, got 0"):
        EncoderConfig(embedding_dim=0, **fields)
    with pytest.raises(TypeError, match="embedding_dim must be an integer"):
        EncoderConfig(embedding_dim="8", **fields)
    with pytest.raises(ValueError, match="embedding_dim=4 gives head='pretraining' two widths"):
        EncoderConfig(embedding_dim=4, head="pretraining", **fields)


def test_groups_divide_the_layers() -> None:
    fields = {"vocab_size": 30, **OPTIONS}
    with pytest.raises(
        ValueError, match=r"num_layers \(5\) must be a multiple of block_groups \(2\)"
    ):
        EncoderConfig(num_layers=5, block_groups=2, **fields)
    with pytest.raises(ValueError, match=r"num_decoder_layers \(5\) must be a multiple"):
        TransformerConfig(
            source_vocab_size=30,
            num_decoder_layers=5,
            block_groups=1,
            blocks_per_group=3,
            **OPTIONS,
        )
    with pytest.raises(TypeError, match="num_layers must be an integer"):
        EncoderConfig(num_layers=2.5, block_groups=2, **fields)
    with pytest.raises(ValueError, match="blocks_per_group=2 needs block_groups, got None"):
        EncoderConfig(blocks_per_group=2, **fields)
    with pytest.raises(ValueError, match="block_groups must be at least 1, got 0"):
        EncoderConfig(block_groups=0, **fields)
    with pytest.raises(TypeError, match="blocks_per_group"):
        EncoderConfig(block_groups=1, blocks_per_group=1.5, **fields)


def test_a_config_s_blocks_are_in_its_pattern() -> None:
    config = DecoderConfig(
        vocab_size=30,
        **OPTIONS,
        num_layers=5,
        rotary_base=1000.0,
        block_pattern=[{"window": 4, "rotary_base": 10.0}, {"window": 4, "rotary_base": 10.0}, {}],
    )
    own = [block.own for block in config.stack.layers]
    assert [one.window for one in own] == [4, 4, None, 4, 4]
    assert [one.rotary.base for one in own] == [10.0, 10.0, 1000.0, 10.0, 10.0]
    assert DecoderConfig.from_json(config.to_json()) == config
    assert hash(config) == hash(DecoderConfig.from_json(config.to_json()))
    both = TransformerConfig(source_vocab_size=30, **OPTIONS, block_pattern=({"window": 2}, {}))
    assert [one.own.window for one in both.encoder.layers[:3]] == [2, None, 2]
    assert TransformerConfig.from_json(both.to_json()) == both


def test_an_encoder_may_have_a_pattern_of_its_own() -> None:
    config = TransformerConfig(
        source_vocab_size=30,
        **OPTIONS,
        block_pattern=({"window": 2}, {}),
        encoder_pattern=[{"window": 3}],
    )
    assert [one.own.window for one in config.encoder.layers[:3]] == [3, 3, 3]
    assert [one.own.window for one in config.decoder.layers[:3]] == [2, None, 2]
    assert TransformerConfig.from_json(config.to_json()) == config
    plain = dataclasses.replace(config, encoder_pattern=[{}])
    assert [one.own.window for one in plain.encoder.layers[:3]] == [None] * 3
    with pytest.raises(ValueError, match="an option of encoder_pattern must be one of feed_forw"):
        dataclasses.replace(config, encoder_pattern=[{"model_dim": 4}])


@pytest.mark.parametrize(
    ("pattern", "error", "message"),
    [
        ("window", TypeError, "must hold options by name for each block, got 'window'"),
        ([4], TypeError, r"must hold options by name for each block, got \[4\]"),
        ([{"model_dim": 4}], ValueError, "an option of block_pattern must be one of feed_forward"),
        ([{"windw": 4}], ValueError, "got 'windw'.*window"),
        ([{"window": 0}], ValueError, "window must be at least 1, got 0"),
        ([{"window": "4"}], TypeError, "window must be an integer, got '4'"),
    ],
)
def test_a_wrong_pattern_is_refused(pattern: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        BlockOptions(**OPTIONS, block_pattern=pattern)
