"""Run directories of encoders with random weights, by size."""

from pathlib import Path
from typing import Any

from speed.random_run import draw_weights, write_run

from keras_transformer.models.encoder_only import build_encoder

from .sizes import EncoderSize


def write_random_encoder(size: EncoderSize, directory: Path) -> None:
    """Writes a finished run of a random encoder."""
    model: Any = build_encoder(size.config)
    draw_weights(model, size.config.num_layers)
    write_run(model, size.vocab_size, directory)
