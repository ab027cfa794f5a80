"""Stacks of blocks: a pattern that layers repeat, and what its blocks must have in common."""

from typing import Any

import pytest

from keras_transformer.config import BlockOptions, StackConfig

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
