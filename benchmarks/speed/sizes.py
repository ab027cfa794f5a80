"""The model sizes that are measured, and the sentences they are measured on; nothing here needs
TensorFlow, so that measuring processes can import it.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_transformer.config import TransformerConfig
from keras_transformer.config.special_ids import SpecialIds

EOS_ID = SpecialIds.eos

_FIRST_PIECE_ID = EOS_ID + 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Size:
    """One model size and the lengths of what it translates.

    Args:
        name: As given on the command line.
        vocab_size: Ids of the shared vocabulary.
        target_tokens: Tokens that each translation is forced to have; the end token is not among
            them. About as many as there will be if `text_lengths` are given.
        source_tokens: Tokens of each source sentence, the end token included.
        preset: The preset of `TransformerConfig`.
        fields: Fields of the config that replace the preset's.
        text: Name of the text whose lengths the sentences have; None if all are of one length.
        text_lengths: Tokens of the text's sentences, the end token included. Translations then end
            where the model ends them.
    """

    name: str
    vocab_size: int
    target_tokens: int
    preset: str
    source_tokens: int = 24
    fields: dict[str, Any] = dataclasses.field(default_factory=dict)
    text: str | None = None
    text_lengths: tuple[int, ...] = ()

    def of_length(self, tokens: int) -> "Size":
        """Returns the size with sources and translations of this many tokens."""
        return dataclasses.replace(self, source_tokens=tokens, target_tokens=tokens)

    def of_text(self, text: str, lengths: Sequence[int]) -> "Size":
        """Returns the size with sources as long as a text's sentences."""
        mean = round(sum(lengths) / len(lengths))
        return dataclasses.replace(self.of_length(mean), text=text, text_lengths=tuple(lengths))

    @property
    def forced_tokens(self) -> int | None:
        """Tokens that translations are forced to have; None if the model ends them."""
        return self.target_tokens if self.text is None else None

    @property
    def config(self) -> TransformerConfig:
        """The model's config."""
        return TransformerConfig.preset(self.preset, vocab_size=self.vocab_size, **self.fields)

    def sources(self, batch: int) -> list[list[int]]:
        """Returns the ids of `batch` sentences without eos, the same at every call."""
        random = np.random.default_rng(batch)
        lengths = self.text_lengths or (self.source_tokens,)
        return [
            random.integers(_FIRST_PIECE_ID, self.vocab_size, length - 1).tolist()
            for length in itertools.islice(itertools.cycle(lengths), batch)
        ]


SIZES = {
    size.name: size
    for size in (
        Size(name="tiny", preset="tiny", vocab_size=10_000, target_tokens=48),
        Size(name="small", preset="small", vocab_size=10_000, target_tokens=32),
        Size(name="base", preset="base", vocab_size=32_000, target_tokens=32),
        # As OPUS-MT's translators are imported.
        Size(
            name="opus",
            preset="base",
            vocab_size=58_101,
            target_tokens=32,
            fields={"activation": "silu", "sinusoid_layout": "halves", "logit_bias": True},
        ),
        # The students that translate in browsers, and a larger one.
        Size(
            name="tiny11",
            preset="base",
            vocab_size=32_000,
            target_tokens=32,
            fields={"model_dim": 256, "feed_forward_dim": 1_536, "num_decoder_layers": 2},
        ),
        Size(
            name="student",
            preset="base",
            vocab_size=32_000,
            target_tokens=32,
            fields={"num_decoder_layers": 2},
        ),
        # The shape of T5's small one.
        Size(
            name="t5",
            preset="base",
            vocab_size=32_128,
            target_tokens=32,
            fields={
                **{"use_bias": False, "scale_attention": False, "norm": "pre"},
                **{"norm_kind": "rms_norm", "layer_norm_epsilon": 1e-6, "positions": "none"},
                **{"relative_buckets": 32, "relative_max_distance": 128},
                # Not one of those that never win: what these lack of the constant feature
                # would be in the first states.
                "special_ids": SpecialIds(decoder_start=SpecialIds.unk),
            },
        ),
        # For smoke tests: says nothing about speed.
        Size(
            name="mini",
            preset="tiny",
            vocab_size=300,
            target_tokens=6,
            source_tokens=5,
            fields={"model_dim": 32, "feed_forward_dim": 48, "num_decoder_layers": 2},
        ),
    )
}
