"""The sizes of encoders that are measured, and the rows of ids they are measured on; nothing here
needs TensorFlow, so that measuring processes can import it.
"""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.text.layout import encoder_row

# Of models without a table of positions.
_LONGEST = 512
# Rotary positions, of which every third block reads the whole text; gates, and no biases.
_LOCAL = {"window": 65, "rotary_base": 10_000.0}
_GLOBAL = {"window": None, "rotary_base": 160_000.0}
_MODERNBERT = {
    "feed_forward_dim": 1152,
    "num_layers": 22,
    "norm": "pre",
    "first_norm": False,
    "layer_norm_epsilon": 1e-5,
    "gated_feed_forward": True,
    "attention_bias": False,
    "feed_forward_bias": False,
    "positions": "none",
    "max_positions": None,
    "num_token_types": 0,
    "pooler": False,
    "head_transform": True,
    "block_pattern": (_GLOBAL, _LOCAL, _LOCAL),
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderSize:
    """One size of an encoder.

    Args:
        name: As given on the command line.
        preset: The preset of `EncoderConfig`.
        vocab_size: Ids of the vocabulary.
        fields: Fields of the config that replace the preset's.
        run: A trained run, whose config counts; None for a random one of the preset.
    """

    name: str
    preset: str
    vocab_size: int = 30_522
    fields: dict[str, Any] = dataclasses.field(default_factory=dict)
    run: Path | None = None

    @property
    def config(self) -> EncoderConfig:
        """The model's config."""
        if self.run is not None:
            return EncoderConfig.load(self.run / "config.json")
        return EncoderConfig.preset(self.preset, vocab_size=self.vocab_size, **self.fields)

    @property
    def longest(self) -> int:
        """Most tokens of a row."""
        return self.config.max_positions or _LONGEST

    def rows(self, lengths: list[int]) -> list[list[int]]:
        """Returns rows of these lengths, the same at every call.

        Args:
            lengths: Tokens of each row, at least 2: bos and eos are among them.
        """
        config = self.config
        special = config.special_ids
        random = np.random.default_rng([len(lengths), *lengths])
        pieces = (random.integers(special.highest + 1, config.vocab_size, n - 2) for n in lengths)
        return [encoder_row(ids.tolist(), None, special)[0] for ids in pieces]


SIZES = {
    size.name: size
    for size in (
        EncoderSize(name="bert-base", preset="bert-base"),
        EncoderSize(name="bert-tiny", preset="bert-tiny"),
        EncoderSize(
            name="minilm",
            preset="bert-base",
            fields={"model_dim": 384, "feed_forward_dim": 1536, "num_layers": 6},
        ),
        EncoderSize(name="modernbert", preset="bert-base", vocab_size=50_368, fields=_MODERNBERT),
        # For smoke tests: says nothing about speed.
        EncoderSize(
            name="mini",
            preset="bert-tiny",
            vocab_size=300,
            fields={"model_dim": 32, "feed_forward_dim": 48, "max_positions": 64},
        ),
    )
}
