"""The optimizer of the engines in Keras; nothing here needs TensorFlow."""

import keras

from keras_transformer.training.optimizer.schedule import WarmupSchedule

from .trainer import OPTIONS


def optimizer() -> keras.optimizers.Optimizer:
    """Returns Adam with the schedule and the clipping that `keras_transformer.train` uses."""
    return keras.optimizers.Adam(
        WarmupSchedule(OPTIONS.learning_rate, OPTIONS.warmup_steps),
        beta_1=0.9,
        beta_2=OPTIONS.beta_2,
        epsilon=OPTIONS.epsilon,
        global_clipnorm=OPTIONS.clip_norm,
    )
