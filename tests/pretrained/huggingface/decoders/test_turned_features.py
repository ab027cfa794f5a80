"""The order of the features of heads that rotary positions turn in part."""

import numpy as np
import pytest

from keras_transformer.config import BlockOptions
from keras_transformer.pretrained.huggingface.decoders.turned_features import features, turned
from keras_transformer.pretrained.weight_table import Entry

WIDTHS = {"model_dim": 3, "num_heads": 2, "key_dim": 8, "value_dim": 8, "rotary_base": 100.0}


def test_either_half_begins_with_half_of_the_turned_ones() -> None:
    assert features(4, 8).tolist() == [0, 1, 4, 5, 2, 3, 6, 7]
    assert features(8, 8).tolist() == [*range(8)]
    assert features(2, 6).tolist() == [0, 2, 3, 1, 4, 5]


@pytest.mark.parametrize("shape", [(3, 16), (16,)])
def test_weights_leave_as_they_came(shape: tuple[int, ...]) -> None:
    config = BlockOptions(**WIDTHS, rotary_width=4)
    [entry] = turned([Entry(np.zeros(shape), "q", transposed=len(shape) == 2)], config)
    theirs = np.arange(np.prod(shape), dtype=np.float32).reshape(shape[::-1])
    ours = entry.read(theirs)
    assert ours[..., 8 + 2].tolist() == theirs.T[..., 8 + 4].tolist()
    [back] = turned([Entry(ours, "q", transposed=len(shape) == 2)], config)
    np.testing.assert_array_equal(back.write(), theirs)


def test_heads_that_are_turned_whole_stay_as_they_are() -> None:
    entries = [Entry(None, "q")]
    assert list(turned(entries, BlockOptions(**WIDTHS))) == entries
