"""Run directories of decoders with random weights, which continue prompts with varied and stable
text as trained ones do.
"""

from pathlib import Path
from typing import Any

from speed.random_run import randomize, write_run

from keras_transformer.models.decoder_only import build_decoder

from .sizes import DecoderSize


def write_random_decoder(size: DecoderSize, directory: Path) -> None:
    """Writes a finished run of a random decoder."""
    model: Any = build_decoder(size.config)
    randomize(model)
    write_run(model, size.vocab_size, directory)
