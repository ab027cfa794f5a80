"""The plan of a run, made of what is asked for, a recipe and the training pairs, and its pace: the
updates of an epoch, a round and the run.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from keras_transformer.data.batching.batches import batches_per_epoch
from keras_transformer.training import recipes
from keras_transformer.training.recipes import Recipe
from keras_transformer.training.run.options import DEFAULT_PATIENCE, TrainOptions, TrainPlan
from keras_transformer.training.tasks.training_data import TrainingData


@dataclass(frozen=True)
class Pace:
    """Numbers of updates.

    Attributes:
        epoch: In an epoch, which sees every pair once.
        round: In a round, which ends with a checkpoint.
        total: In the whole run, unless it ends early.
    """

    epoch: int
    round: int
    total: int

    @classmethod
    def of(cls, pairs: object, plan: TrainPlan, workers: int = 1) -> "Pace":
        """Computes the numbers.

        Args:
            pairs: The training pairs, as `batches_per_epoch` takes them.
            plan: How to train.
            workers: Number of processes that train together.
        """
        epoch = batches_per_epoch(pairs, plan.batch_tokens, workers)
        total = _total(epoch, plan.epochs, plan.max_steps)
        return cls(epoch, min(plan.checkpoint_steps, total), total)


def make_plan(
    options: TrainOptions, recipe: Recipe, data: TrainingData, workers: int = 1
) -> TrainPlan:
    """Decides what is left open of the options (`docs/recipe.md`).

    Args:
        options: What is asked for, and what `recipe.settings` decides.
        recipe: What suits the model on a corpus that is large enough.
        data: The pairs or texts to train and validate on.
        workers: Number of processes that train together.

    Raises:
        ValueError: A row is longer than a batch may be.
    """

    def batches(tokens: int) -> int:
        if data.valid is not None:
            batches_per_epoch(data.valid, tokens)
        return batches_per_epoch(data.train, tokens, workers)

    tokens = options.batch_tokens or recipes.batch_tokens(
        recipe.batch_tokens, batches, recipe.fewest_tokens
    )
    epoch = batches(tokens)
    epochs = options.epochs or recipes.epochs(
        recipe.epochs, recipe.least_updates, epoch, recipe.most_epochs
    )
    total = _total(epoch, epochs, options.max_steps)
    steps = options.checkpoint_steps or recipes.round_steps(recipe.epochs, epoch, total)
    fitted: dict[str, Any] = {
        "batch_tokens": tokens,
        "epochs": epochs,
        "learning_rate": recipes.learning_rate(recipe, epoch),
        "warmup_steps": recipes.warmup_steps(recipe.warmup_steps, total, recipe.most_warmup),
        "checkpoint_steps": steps,
        "average_checkpoints": recipes.averaged_checkpoints(
            recipe.average_checkpoints, recipe.epochs, -(-total // steps)
        ),
        "patience": DEFAULT_PATIENCE if options.early_stopping else None,
    }
    plan = TrainPlan(**asdict(options.filled(fitted)))
    # Of several replicas the chief alone chooses, which cannot validate alone.
    if plan.final_model == "auto" and (data.valid is None or plan.strategy is not None):
        plan = replace(plan, final_model="average")
    return plan


def unreachable(plan: TrainPlan, pace: Pace) -> Iterator[str]:
    """Yields a line on each number of a plan that a run of its length cannot reach."""
    rounds = -(-pace.total // pace.round)
    if plan.warmup_steps > pace.total:
        rate = plan.learning_rate * pace.total / plan.warmup_steps
        yield (
            f"warmup_steps={plan.warmup_steps:,} is more than the {pace.total:,} updates of the "
            f"run: the learning rate ends at {rate:.2g} and never gets to {plan.learning_rate:.2g}"
        )
    if plan.average_checkpoints > rounds:
        yield (
            f"average_checkpoints={plan.average_checkpoints} is more than the {rounds} checkpoints "
            "of the run: the mean is of all, the first included"
        )
    if plan.patience is not None and plan.patience >= rounds:
        yield (
            f"patience={plan.patience} is not used up in the {rounds} rounds of the run: it ends "
            "nothing"
        )
    if plan.checkpoint_steps > pace.total:
        yield (
            f"checkpoint_steps={plan.checkpoint_steps:,} is more than the {pace.total:,} updates "
            "of the run: its only checkpoint comes at the end"
        )


def _total(epoch: int, epochs: int, max_steps: int | None) -> int:
    total = epochs * epoch
    return total if max_steps is None else min(total, max_steps)
