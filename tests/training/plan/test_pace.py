"""Numbers of updates: of an epoch, of a round, of a run."""

from typing import Any

import pytest

from keras_transformer.data.encoding.id_pairs import EncodedPairs
from keras_transformer.training.plan.pace import Pace, make_plan, unreachable
from keras_transformer.training.recipes import MOST_UPDATES_OF_A_ROUND, Recipe
from keras_transformer.training.run.options import TrainOptions, TrainPlan
from keras_transformer.training.tasks.training_data import TrainingData


def data(pairs: int) -> TrainingData:
    """Pairs of two tokens a side."""
    rows = [[4]] * pairs
    tokenizer: Any = None
    return TrainingData(tokenizer, tokenizer, EncodedPairs.from_ids(rows, rows), None, {})


def made(recipe: Recipe, given: TrainingData, **options: Any) -> TrainPlan:
    return make_plan(TrainOptions(**options).filled(recipe.settings()), recipe, given)


def pace(pairs: int, **options: Any) -> Pace:
    """Of pairs of two tokens a side, two of them a batch."""
    given = data(pairs)
    plan = made(Recipe(epochs=30), given, batch_tokens=4, **options)
    return Pace.of(given.train, plan)


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
    pairs = 2 * MOST_UPDATES_OF_A_ROUND + 8
    assert pace(pairs, epochs=2) == Pace(
        epoch=MOST_UPDATES_OF_A_ROUND + 4,
        round=MOST_UPDATES_OF_A_ROUND,
        total=pairs,
    )


def test_what_is_given_stays_and_what_is_open_is_fitted() -> None:
    recipe = Recipe(epochs=10, least_updates=100, batch_tokens=1024)
    plan = made(recipe, data(1000), warmup_steps=40, seed=3)
    # 2,000 tokens make two batches of 1,024, and eight of 256.
    assert (plan.batch_tokens, plan.epochs) == (256, 13)
    assert (plan.warmup_steps, plan.seed, plan.r_drop) == (40, 3, 0)
    assert plan.checkpoint_steps == 11 and plan.average_checkpoints == 5
    assert plan.final_model == "average"  # There is nothing to compare by.


def test_what_a_run_cannot_reach_is_told() -> None:
    plan = TrainPlan(warmup_steps=500, average_checkpoints=9, patience=6, checkpoint_steps=400)
    told = list(unreachable(plan, Pace(epoch=75, round=75, total=300)))
    assert [line.partition(" ")[0] for line in told] == [
        "warmup_steps=500",
        "average_checkpoints=9",
        "patience=6",
        "checkpoint_steps=400",
    ]
    assert "never gets to 0.004" in told[0]
    assert not list(
        unreachable(
            TrainPlan(warmup_steps=75, checkpoint_steps=10), Pace(epoch=10, round=10, total=300)
        )
    )
