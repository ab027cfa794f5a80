"""The sizes of decoders that are measured, and the prompts they are measured on; nothing here needs
TensorFlow, so that measuring processes can import it.
"""

import dataclasses
from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds

_FIRST_PIECE_ID = SpecialIds().highest + 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecoderSize:
    """One size of a decoder.

    Args:
        name: As given on the command line.
        preset: The preset of `DecoderConfig`.
        vocab_size: Ids of the vocabulary.
        fields: Fields of the config that replace the preset's.
    """

    name: str
    preset: str
    vocab_size: int = 50_257
    fields: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def config(self) -> DecoderConfig:
        """The model's config."""
        return DecoderConfig.preset(self.preset, vocab_size=self.vocab_size, **self.fields)

    @property
    def longest(self) -> int:
        """Most tokens of a prompt and its continuation together."""
        return self.config.max_positions or 1024

    def prompts(self, batch: int, tokens: int) -> list[list[int]]:
        """Returns the ids of `batch` prompts, the same at every call.

        Args:
            batch: Number of prompts.
            tokens: Tokens that the decoder reads before the first new one, its start among them.
        """
        random = np.random.default_rng([batch, tokens])
        return random.integers(_FIRST_PIECE_ID, self.vocab_size, (batch, tokens - 1)).tolist()


SIZES = {
    size.name: size
    for size in (
        DecoderSize(name="gpt2", preset="gpt2"),
        DecoderSize(name="gpt2-tiny", preset="gpt2-tiny", vocab_size=10_000),
        # Half of SmolLM's 30 blocks: RMSNorm, rotary positions, gates, grouped heads.
        DecoderSize(
            name="llama",
            preset="llama-tiny",
            vocab_size=49_152,
            fields={
                "model_dim": 576,
                "feed_forward_dim": 1536,
                "num_heads": 9,
                "num_key_value_heads": 3,
                "num_layers": 15,
            },
        ),
        # Qwen 2.5's smallest: biases of queries, keys and values alone.
        DecoderSize(
            name="qwen",
            preset="llama-tiny",
            vocab_size=151_936,
            fields={
                "model_dim": 896,
                "feed_forward_dim": 4864,
                "num_heads": 14,
                "num_key_value_heads": 2,
                "num_layers": 24,
                "use_bias": True,
                "attention_output_bias": False,
                "feed_forward_bias": False,
                "rotary_base": 1_000_000.0,
            },
        ),
        # For smoke tests: they say nothing about speed.
        DecoderSize(
            name="mini-llama",
            preset="llama-tiny",
            vocab_size=300,
            fields={
                "model_dim": 128,
                "feed_forward_dim": 96,
                "num_heads": 2,
                "num_key_value_heads": 1,
                "num_layers": 2,
            },
        ),
        DecoderSize(
            name="mini",
            preset="gpt2-tiny",
            vocab_size=300,
            fields={"model_dim": 32, "feed_forward_dim": 48, "num_layers": 2, "max_positions": 64},
        ),
    )
}
