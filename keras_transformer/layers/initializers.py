"""How the weights of the Transformer's linear layers start: the only place it is decided."""

import keras


def linear_initializer() -> keras.initializers.Initializer:
    """Returns Glorot's uniform initialiser at half its standard deviation.

    Residual branches that start small learn faster: on Multi30k, `tiny` and pre-norm, validation
    loss after 800 updates was 2.73 nats instead of 2.89 (`docs/results.md`).
    """
    return keras.initializers.VarianceScaling(0.25, mode="fan_avg", distribution="uniform")
