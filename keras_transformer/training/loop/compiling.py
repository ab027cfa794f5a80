"""The compiled model that `fit` trains: a Transformer with its loss and the paper's optimizer and
schedule (sections 5.3, 5.4), for one or several replicas.
"""

from collections.abc import Collection

import tensorflow as tf

from keras_transformer.models.families import AnyModel
from keras_transformer.models.lora.adaptation import adapt_low_rank
from keras_transformer.training.loop.accumulation import AccumulatingTrainingModel
from keras_transformer.training.loop.synchronous import (
    SynchronousAdam,
    SynchronousMuon,
    SynchronousTrainingModel,
)
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.optimizer.adam import FusedAdam
from keras_transformer.training.optimizer.muon import FusedMuon
from keras_transformer.training.optimizer.schedule import WarmupSchedule
from keras_transformer.training.recipes import unfreeze_steps
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.transfer.freezing import first_updates, freeze_layers, layer_rates
from keras_transformer.training.word_level.training_model import DistillingTrainingModel, Teacher

# Each for one device and for several.
_OPTIMIZERS = {
    "adam": (FusedAdam, SynchronousAdam),
    "muon": (FusedMuon, SynchronousMuon),
}


def compile_transformer(transformer: AnyModel, options: TrainPlan, updates: int) -> TrainingModel:
    """Returns the compiled model that `fit` trains.

    Args:
        transformer: The model whose weights are trained.
        options: How to train.
        updates: Total number of updates, for the schedule's cooldown.
    """
    return compile_training(training_model(transformer, options), options, updates)


def training_model(
    transformer: AnyModel,
    options: TrainPlan,
    fresh: Collection[str] = (),
    teacher: Teacher | None = None,
) -> TrainingModel:
    """Joins a Transformer to its loss, for the replicas of the current strategy's scope if any.

    Args:
        transformer: The model whose weights are trained.
        options: How to train.
        fresh: Paths of the weights that were not taken from the model to start from.
        teacher: Whose distributions the loss compares with, on one replica; None for none.
    """
    choose_trained_weights(transformer, options, fresh)
    if teacher is not None:
        return DistillingTrainingModel(
            transformer, options.label_smoothing, teacher, micro_batches=options.micro_batches
        )
    arguments = transformer, options.label_smoothing, options.r_drop
    if tf.distribute.has_strategy():
        return SynchronousTrainingModel(*arguments, micro_batches=options.micro_batches)
    if options.micro_batches > 1:
        return AccumulatingTrainingModel(*arguments, micro_batches=options.micro_batches)
    return TrainingModel(*arguments)


def choose_trained_weights(
    transformer: AnyModel, options: TrainPlan, fresh: Collection[str] = ()
) -> None:
    """Applies the options on which weights are trained and what the forward pass keeps.

    Arguments are the first of `training_model`, which calls this.

    Raises:
        ValueError: No weight is left to train.
    """
    transformer.recompute_activations(options.recompute)
    freeze_layers(transformer, options.freeze)
    if options.lora_rank:
        adapt_low_rank(transformer, options.lora_rank, fresh)
    if not transformer.trainable_weights:
        raise ValueError(
            f"freeze={options.freeze!r} leaves nothing to train: freeze fewer blocks, or leave it "
            "out."
        )


def compile_training(
    model: TrainingModel, options: TrainPlan, updates: int, fresh: Collection[str] = ()
) -> TrainingModel:
    """Gives a training model its optimizer, creates the optimizer's variables, returns the model.

    Args:
        model: As returned by `training_model`.
        options: How to train.
        updates: Total number of updates, for the schedule's cooldown.
        fresh: Paths of the weights that were not taken from another run.

    Raises:
        ValueError: Gradual unfreezing would take longer than the run.
    """
    alone, together = _OPTIMIZERS[options.optimizer]
    optimizer = together if tf.distribute.has_strategy() else alone
    cooldown = round(options.cooldown * updates)
    model.compile(
        optimizer=optimizer(
            WarmupSchedule(options.learning_rate, options.warmup_steps, updates, cooldown),
            beta_1=0.9,
            beta_2=options.beta_2,
            epsilon=options.epsilon,
            global_clipnorm=options.clip_norm,
        ),
        jit_compile=options.jit_compile,
    )
    paths = [weight.path for weight in model.transformer.weights]
    if options.layer_decay < 1:
        model.optimizer.rates = layer_rates(paths, options.layer_decay)
    if options.unfreeze_steps:
        firsts = first_updates(paths, options.unfreeze_steps, fresh)
        last = max(firsts[weight.path] for weight in model.transformer.trainable_weights)
        if last >= updates:
            fits = unfreeze_steps(last // options.unfreeze_steps, updates)
            advice = f"lower unfreeze_steps to {fits}" if fits else "leave unfreeze_steps out"
            raise ValueError(
                f"unfreeze_steps={options.unfreeze_steps} unfreezes the last weights after "
                f"{last:,} updates, and the run has {updates:,}: {advice}, or keep the lowest "
                "layers with freeze."
            )
        print(f"gradual unfreezing: all train after {last:,} of {updates:,} updates")
        model.optimizer.first_updates = firsts
    model.optimizer.build(model.trainable_variables)
    return model
