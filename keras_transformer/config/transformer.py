"""The config of a Transformer as one frozen, validated value, which is written to and read from
JSON; also the named sizes, among them those of the paper's Table 3.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from keras_transformer.config.checks import check_size, check_soft_cap, make_numbers_plain
from keras_transformer.config.embedding import EmbeddedConfig
from keras_transformer.config.family import ENCODER_DECODER, FamilyName
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.config.stack import StackConfig

EmbeddingSharing = Literal["all", "target", "none"]

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {
        "model_dim": 128,
        "feed_forward_dim": 256,
        "num_heads": 4,
        "num_encoder_layers": 4,
        "num_decoder_layers": 4,
        "dropout": 0.15,
        "norm": "pre",
    },
    "small": {
        "model_dim": 256,
        "feed_forward_dim": 1024,
        "num_heads": 4,
        "num_encoder_layers": 4,
        "num_decoder_layers": 4,
        "dropout": 0.2,
        "norm": "pre",
    },
    "base": {},
    "big": {"model_dim": 1024, "feed_forward_dim": 4096, "num_heads": 16, "dropout": 0.3},
    # Deep encoders with shallow decoders (Kasai et al. 2021): a sentence passes through the encoder
    # once and through the decoder token by token.
    "student-tiny": {
        "model_dim": 128,
        "feed_forward_dim": 256,
        "num_heads": 4,
        "num_encoder_layers": 6,
        "num_decoder_layers": 2,
        "dropout": 0.2,
        "norm": "pre",
    },
    "student": {"num_decoder_layers": 2},
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransformerConfig(EmbeddedConfig):
    """Sizes and choices of an encoder-decoder Transformer (Vaswani et al. 2017, section 3).

    Args:
        source_vocab_size: Number of source token ids, special ids included.
        target_vocab_size: Number of target token ids; the source's if omitted (None).
        num_encoder_layers: Encoder blocks N.
        num_decoder_layers: Decoder blocks N.
        decoder_recurrence: What the decoder's blocks have in place of self-attention: "ssru", the
            simpler simple recurrent unit (Kim et al. 2019), whose state has one size however long
            a translation is; None for self-attention.
        encoder_pattern: What the encoder's blocks have in place of `block_pattern`, if anything;
            ({},), for instance, that they are all alike.
        share_embeddings: "all" one matrix for source, target and final linear layer
            (section 3.4), "target" for target and final linear layer, "none" for three matrices.
        logit_bias: Whether each logit has a trained bias.
        final_logit_soft_cap: What bounds logits z, biases included, as final_logit_soft_cap ·
            tanh(z / final_logit_soft_cap) (Gemma 2); None for no bound.
        special_ids: The ids that are not text, the same on both sides.
        marks: Ids that stand around the texts, such as those of languages.
        **fields: As for `EmbeddedConfig`.

    Raises:
        ValueError: A value is out of range or two of them do not match; the message names them.
        TypeError: A size is not an integer or a rate is not a number.

    Example:
        >>> TransformerConfig.preset("base", vocab_size=37_000).parameter_count
        63082496
    """

    family: ClassVar[FamilyName] = ENCODER_DECODER.name
    presets: ClassVar[dict[str, dict[str, Any]]] = PRESETS

    source_vocab_size: int
    # None only as an argument: `__post_init__` always sets an integer.
    target_vocab_size: int = None  # type: ignore[assignment]
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    decoder_recurrence: Literal["ssru"] | None = None
    encoder_pattern: tuple[Mapping[str, Any], ...] = dataclasses.field(
        default=(), hash=False, metadata={"flag": False}
    )
    share_embeddings: EmbeddingSharing = "all"
    logit_bias: bool = False
    final_logit_soft_cap: float | None = None
    special_ids: SpecialIds = SpecialIds()
    marks: SentenceMarks = SentenceMarks()

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        if self.target_vocab_size is None:
            object.__setattr__(self, "target_vocab_size", self.source_vocab_size)
        for name in ("source_vocab_size", "target_vocab_size"):
            check_size(name, getattr(self, name), least=5)
        super().__post_init__()
        for name in ("num_encoder_layers", "num_decoder_layers"):
            check_size(name, getattr(self, name))
        self._check_pattern("encoder_pattern")
        check_soft_cap("final_logit_soft_cap", self.final_logit_soft_cap)
        if self.share_embeddings == "all" and self.source_vocab_size != self.target_vocab_size:
            raise ValueError(
                "share_embeddings='all' needs one vocabulary, but source_vocab_size is "
                f"{self.source_vocab_size} and target_vocab_size {self.target_vocab_size}: "
                "choose share_embeddings='target' or 'none'."
            )
        self._check_special_ids()

    def _check_special_ids(self) -> None:
        if not isinstance(self.special_ids, SpecialIds):
            raise TypeError(f"special_ids must be SpecialIds, got {self.special_ids!r}.")
        if not isinstance(self.marks, SentenceMarks):
            raise TypeError(f"marks must be SentenceMarks, got {self.marks!r}.")
        vocabulary = min(self.source_vocab_size, self.target_vocab_size)
        if self.marks.ids and max(self.marks.ids) >= vocabulary:
            raise ValueError(
                f"marks names the id {max(self.marks.ids)}, but the smaller vocabulary has the ids "
                f"0 to {vocabulary - 1}."
            )
        if self.special_ids.highest >= vocabulary:
            raise ValueError(
                f"special_ids names the id {self.special_ids.highest}, but the smaller vocabulary "
                f"has the ids 0 to {vocabulary - 1}."
            )

    @property
    def source_ends(self) -> tuple[int, ...]:
        """The ids behind each source: eos and, if the model reads one there, its language's."""
        return self.marks.behind_source(self.special_ids.eos)

    @property
    def encoder(self) -> StackConfig:
        """The encoder's stack of blocks."""
        return self.stack_of(self.num_encoder_layers, pattern=self.encoder_pattern)

    @property
    def decoder(self) -> StackConfig:
        """The decoder's stack of blocks, each with attention to the encoder."""
        return self.stack_of(
            self.num_decoder_layers, attends_source=True, recurrence=self.decoder_recurrence
        )

    @property
    def parameter_count(self) -> int:
        """Number of trainable scalars, counted from the paper's equations."""
        stacks = sum(one.parameter_count(self.model_dim) for one in (self.encoder, self.decoder))
        source, target = self.source_vocab_size, self.target_vocab_size
        tokens = {"all": source, "target": source + target, "none": source + 2 * target}
        matrices = tokens[self.share_embeddings] * self.model_dim
        return stacks + matrices + 2 * self.embedding_parameters() + self.logit_bias * target

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        plain = {
            "encoder_pattern": [dict(own) for own in self.encoder_pattern],
            "special_ids": self.special_ids.to_dict(),
            "marks": self.marks.to_dict(),
        }
        return {**super().to_dict(), **plain}
