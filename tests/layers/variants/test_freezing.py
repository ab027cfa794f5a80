"""Frozen layers inside a whole: which they are, and that they are frozen again."""

import pytest

from keras_transformer.config import BlockOptions
from keras_transformer.layers import Encoder
from keras_transformer.layers.variants.freezing import freeze_parts, frozen_parts


def make() -> Encoder:
    encoder = Encoder(
        BlockOptions(num_heads=2, key_dim=3, value_dim=3, feed_forward_dim=5).stack_of(2)
    )
    encoder.build((None, None, 6))
    return encoder


def trained(encoder: Encoder) -> list[str]:
    return [weight.path.partition("/")[2] for weight in encoder.trainable_weights]


def test_nothing_is_said_of_parts_that_are_as_the_whole() -> None:
    encoder = make()
    assert frozen_parts(encoder) is None
    encoder.trainable = False
    assert frozen_parts(encoder) is None


def test_a_frozen_part_is_frozen_again_with_all_inside_it() -> None:
    encoder, twin = make(), make()
    encoder.blocks[0].trainable = False
    freeze_parts(twin, frozen_parts(encoder))
    assert trained(twin) == trained(encoder)
    assert twin.blocks[1].trainable and not twin.blocks[0].feed_forward.hidden.trainable


def test_a_part_that_is_trained_inside_a_frozen_one_is_so_again() -> None:
    encoder, twin = make(), make()
    for block in encoder.blocks:
        block.trainable = False
    encoder.blocks[1].feed_forward.hidden.trainable = True
    freeze_parts(twin, frozen_parts(encoder))
    assert trained(twin) == [f"block_1/feed_forward/hidden/{name}" for name in ("kernel", "bias")]


def test_a_part_that_the_whole_has_not_is_named() -> None:
    with pytest.raises(ValueError, match="'block_7' is to be frozen, but .* has only .*block_0"):
        freeze_parts(make(), ["block_0", "block_7"])
