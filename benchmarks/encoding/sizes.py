"""The sizes of encoders that are measured, and the rows of ids they are measured on; nothing here
needs TensorFlow, so that measuring processes can import it.
"""

import dataclasses
from typing import Any

import numpy as np

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.layout import encoder_row

_SPECIAL = SpecialIds()


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderSize:
    """One size of an encoder.

    Args:
        name: As given on the command line.
        preset: The preset of `EncoderConfig`.
        vocab_size: Ids of the vocabulary.
        fields: Fields of the config that replace the preset's.
    """

    name: str
    preset: str
    vocab_size: int = 30_522
    fields: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def config(self) -> EncoderConfig:
        """The model's config."""
        return EncoderConfig.preset(self.preset, vocab_size=self.vocab_size, **self.fields)

    @property
    def longest(self) -> int:
        """Most tokens of a row."""
        return self.config.max_positions or 512

    def rows(self, lengths: list[int]) -> list[list[int]]:
        """Returns rows of these lengths, the same at every call.

        Args:
            lengths: Tokens of each row, at least 2: bos and eos are among them.
        """
        random = np.random.default_rng([len(lengths), *lengths])
        pieces = (random.integers(_SPECIAL.highest + 1, self.vocab_size, n - 2) for n in lengths)
        return [encoder_row(ids.tolist(), None, _SPECIAL)[0] for ids in pieces]


SIZES = {
    size.name: size
    for size in (
        EncoderSize(name="bert-base", preset="bert-base"),
        EncoderSize(name="bert-tiny", preset="bert-tiny"),
        # For smoke tests: says nothing about speed.
        EncoderSize(
            name="mini",
            preset="bert-tiny",
            vocab_size=300,
            fields={"model_dim": 32, "feed_forward_dim": 48, "max_positions": 64},
        ),
    )
}
