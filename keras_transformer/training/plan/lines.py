"""The lines that say what a run will do before it does it."""

from collections.abc import Iterator

from keras_transformer.data.encoding.id_pairs import EncodedPairs
from keras_transformer.data.encoding.single_texts import EncodedTexts
from keras_transformer.data.encoding.stream import EncodedStream
from keras_transformer.data.prepared.batches import ShardedPairs
from keras_transformer.models.families import AnyModel
from keras_transformer.runs.history import History
from keras_transformer.training.plan.pace import Pace, unreachable
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.tasks.training_data import TrainingData


def plan_lines(
    data: TrainingData, plan: TrainPlan, pace: Pace, model: AnyModel, state_bytes: int
) -> Iterator[str]:
    """Yields the lines.

    Args:
        data: What is trained and validated on.
        plan: How.
        pace: In how many updates.
        model: What is trained.
        state_bytes: Size of a checkpoint.
    """
    noun = data.train.report.noun
    valid = f"{len(data.valid):,} to validate on" if data.valid else "none to validate on"
    yield f"plan: {len(data.train):,} {noun} of {count_tokens(data.train):,} tokens, {valid}"
    sizes = [data.source_tokenizer.vocab_size]
    if data.target_tokenizer is not data.source_tokenizer:
        sizes.append(data.target_tokenizer.vocab_size)
    pieces = " and ".join(f"{size:,}" for size in sizes)
    size = f"{model.count_params():,} parameters"
    yield f"plan: a vocabulary of {pieces} pieces, {size}, dropout {model.config.dropout:g}"
    passes = f"{pace.total / pace.epoch:.3g} epochs of {pace.epoch:,}"
    yield (
        f"plan: {pace.total:,} updates ({passes}) by batches of {plan.batch_tokens:,} tokens; the "
        f"rate rises to {plan.learning_rate:g} over {min(plan.warmup_steps, pace.total):,}"
    )
    rounds = -(-pace.total // pace.round)
    count = plan.average_checkpoints
    mean = "the newest one" if count == 1 else f"the mean of the newest {count}"
    final = {"average": mean, "best": "the best one", "auto": f"{mean} or the best one"}
    yield (
        f"plan: a checkpoint of {state_bytes / 1e6:,.0f} MB every {pace.round:,} updates, "
        f"{rounds:,} in all; the model is {final[plan.final_model]}"
    )
    if plan.patience is not None:
        criterion = plan.criterion
        yield (
            f"plan: training ends early after {plan.patience} rounds without a {criterion.gain} "
            f"{criterion.noun}"
        )
    yield from (f"plan: {line}" for line in unreachable(plan, pace))


def nothing_to_do(plan: TrainPlan, pace: Pace, history: History, done: int) -> str:
    """Returns why a resumed run makes no update.

    Args:
        plan: How it is trained.
        pace: In how many updates.
        history: The rounds so far.
        done: The updates so far.
    """
    if done < pace.total:
        return (
            f"no update is made: after {done:,} of them there was no {plan.criterion.gain} "
            f"{plan.criterion.noun} for {history.rounds_since_best} rounds, and "
            f"patience={plan.patience}"
        )
    limit = "" if plan.max_steps is None else f", max_steps={plan.max_steps:,}"
    return (
        f"no update is made: the run has {done:,} of them, and epochs={plan.epochs}{limit} asks "
        f"for {pace.total:,}"
    )


def count_tokens(rows: EncodedPairs | EncodedTexts | EncodedStream | ShardedPairs) -> int:
    """Returns the tokens of both sides, or of single texts."""
    if isinstance(rows, ShardedPairs):
        return sum(one.source_tokens + one.target_tokens for one in rows.split.shards)
    if isinstance(rows, EncodedTexts | EncodedStream):
        return int(rows.lengths.sum())
    return int(rows.source_lengths.sum() + rows.target_lengths.sum())
