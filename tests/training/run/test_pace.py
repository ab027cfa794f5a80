"""Numbers of updates: of an epoch, of a round, of a run."""

from typing import Any

import pytest

from keras_transformer.data.encoding.id_pairs import EncodedPairs
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.pace import MOST_STEPS_BETWEEN_CHECKPOINTS, Pace


def pace(pairs: int, **options: Any) -> Pace:
    """Of pairs of two tokens a side, two of them a batch."""
    rows = [[4]] * pairs
    encoded = EncodedPairs.from_ids(rows, rows)
    return Pace.of(encoded, TrainOptions(batch_tokens=4, **options))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"epochs": 3}, Pace(epoch=5, round=5, total=15)),
        ({"epochs": 3, "checkpoint_steps": 2}, Pace(epoch=5, round=2, total=15)),
        ({"epochs": 3, "max_steps": 7}, Pace(epoch=5, round=5, total=7)),
        ({"epochs": 3, "max_steps": 99}, Pace(epoch=5, round=5, total=15)),
        ({"epochs": 3, "max_steps": 3}, Pace(epoch=5, round=3, total=3)),
        ({"epochs": 3, "max_steps": 3, "checkpoint_steps": 4}, Pace(epoch=5, round=3, total=3)),
    ],
)
def test_rounds_end_with_an_epoch_or_a_checkpoint_and_never_after_the_run(
    options: dict[str, Any], expected: Pace
) -> None:
    assert pace(10, **options) == expected


def test_a_long_epoch_has_several_rounds() -> None:
    pairs = 2 * MOST_STEPS_BETWEEN_CHECKPOINTS + 8
    assert pace(pairs, epochs=2) == Pace(
        epoch=MOST_STEPS_BETWEEN_CHECKPOINTS + 4,
        round=MOST_STEPS_BETWEEN_CHECKPOINTS,
        total=pairs,
    )
