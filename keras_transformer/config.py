"""The shape of a Transformer as one frozen, validated value; it becomes a model, a JSON file or a
manifest entry, and holds the sizes of the paper's Table 3.
"""

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal, get_args

NormPlacement = Literal["post", "pre"]
PositionKind = Literal["sinusoidal", "learned"]
EmbeddingSharing = Literal["all", "target", "none"]

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {
        "model_dim": 128,
        "feed_forward_dim": 256,
        "num_heads": 4,
        "num_encoder_layers": 4,
        "num_decoder_layers": 4,
        "dropout": 0.2,
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
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of an encoder-decoder Transformer (Vaswani et al. 2017, section 3).

    Args:
        source_vocab_size: Number of source token ids, special ids included.
        target_vocab_size: Number of target token ids; the source's where omitted (None).
        model_dim: Width of every layer's output, the paper's d_model.
        feed_forward_dim: Inner width of the feed-forward layer, the paper's d_ff.
        num_heads: Attention heads h.
        key_dim: Width of queries and keys per head, d_k; `model_dim / num_heads` where None.
        value_dim: Width of values per head, d_v; `model_dim / num_heads` where None.
        num_encoder_layers: Encoder blocks N.
        num_decoder_layers: Decoder blocks N.
        dropout: Probability of dropping a feature of each sub-layer's output and of
            embedding + position (section 5.4).
        attention_dropout: Probability of dropping an attention weight.
        activation_dropout: Probability of dropping a feature within the feed-forward layer.
        activation: Any Keras activation name for the feed-forward layer.
        norm: "post" as in the paper, or "pre" with a final norm on each stack.
        positions: "sinusoidal" (section 3.5) or "learned".
        max_positions: Longest sequence in tokens; needed by, and only meant for, "learned".
        share_embeddings: "all" one matrix for source, target and final linear layer
            (section 3.4), "target" for target and final linear layer, "none" for three matrices.
        layer_norm_epsilon: Added to the variance in layer normalisation.

    Raises:
        ValueError: A value is out of range or two of them do not fit; the message names them.
        TypeError: A size is no integer or a rate no number.

    Example:
        >>> TransformerConfig.preset("base", vocab_size=37_000).parameter_count
        63082496
    """

    source_vocab_size: int
    # None comes in only: `__post_init__` always leaves an integer.
    target_vocab_size: int = None  # type: ignore[assignment]
    model_dim: int = 512
    feed_forward_dim: int = 2048
    num_heads: int = 8
    key_dim: int = None  # type: ignore[assignment]
    value_dim: int = None  # type: ignore[assignment]
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    dropout: float = 0.1
    attention_dropout: float = 0.0
    activation_dropout: float = 0.0
    activation: str = "relu"
    norm: NormPlacement = "post"
    positions: PositionKind = "sinusoidal"
    max_positions: int | None = None
    share_embeddings: EmbeddingSharing = "all"
    layer_norm_epsilon: float = 1e-5

    def __post_init__(self) -> None:
        if self.target_vocab_size is None:
            object.__setattr__(self, "target_vocab_size", self.source_vocab_size)
        self._check_sizes()
        for name in ("key_dim", "value_dim"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, self._default_head_width(name))
        self._check_rates()
        self._check_choices()

    def _check_sizes(self) -> None:
        least = {"source_vocab_size": 5, "target_vocab_size": 5}
        optional = ("key_dim", "value_dim", "max_positions")
        for field in dataclasses.fields(self):
            if "int" not in str(field.type):
                continue
            value = getattr(self, field.name)
            if value is None and field.name in optional:
                continue
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{field.name} must be an integer, got {value!r}.")
            if value < least.get(field.name, 1):
                raise ValueError(
                    f"{field.name} must be at least {least.get(field.name, 1)}, got {value}."
                )

    def _default_head_width(self, name: str) -> int:
        if self.model_dim % self.num_heads:
            raise ValueError(
                f"model_dim ({self.model_dim}) is not a multiple of num_heads ({self.num_heads}): "
                f"change one of them, or give {name} (width per head) yourself."
            )
        return self.model_dim // self.num_heads

    def _check_rates(self) -> None:
        rates = ("dropout", "attention_dropout", "activation_dropout")
        for name in (*rates, "layer_norm_epsilon"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"{name} must be a number, got {value!r}.")
        for name in rates:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} is a probability in [0, 1), got {getattr(self, name)}.")
        if not 0 < self.layer_norm_epsilon < 1:
            raise ValueError(
                f"layer_norm_epsilon must lie between 0 and 1, got {self.layer_norm_epsilon}."
            )

    def _check_choices(self) -> None:
        choices = {
            "norm": NormPlacement,
            "positions": PositionKind,
            "share_embeddings": EmbeddingSharing,
        }
        for name, kind in choices.items():
            if getattr(self, name) not in get_args(kind):
                raise ValueError(
                    f"{name} must be one of {', '.join(get_args(kind))}, "
                    f"got {getattr(self, name)!r}."
                )
        if not isinstance(self.activation, str) or not self.activation:
            raise TypeError(
                f"activation must be the name of a Keras activation, got {self.activation!r}."
            )
        if self.share_embeddings == "all" and self.source_vocab_size != self.target_vocab_size:
            raise ValueError(
                "share_embeddings='all' needs one vocabulary, but source_vocab_size is "
                f"{self.source_vocab_size} and target_vocab_size {self.target_vocab_size}: "
                "choose share_embeddings='target' or 'none'."
            )
        if (self.positions == "learned") != (self.max_positions is not None):
            raise ValueError(
                "max_positions is needed with positions='learned' and only there, got "
                f"positions={self.positions!r} and max_positions={self.max_positions}."
            )

    @classmethod
    def preset(cls, name: str, *, vocab_size: int, **overrides: Any) -> "TransformerConfig":
        """Returns a named size: "tiny", "small", "base" or "big" (the last two: Table 3).

        Args:
            name: The preset's name.
            vocab_size: Size of the shared vocabulary, special ids included.
            **overrides: Any field of the config, replacing the preset's value.
        """
        if name not in PRESETS:
            raise ValueError(f"preset must be one of {', '.join(PRESETS)}, got {name!r}.")
        return cls(**{"source_vocab_size": vocab_size, **PRESETS[name], **overrides})

    @property
    def parameter_count(self) -> int:
        """Number of trainable scalars, counted from the paper's equations."""
        width = self.model_dim
        heads_in = self.num_heads * (2 * self.key_dim + self.value_dim)
        heads_out = self.num_heads * self.value_dim
        attention = width * heads_in + heads_in + heads_out * width + width
        feed_forward = 2 * width * self.feed_forward_dim + self.feed_forward_dim + width
        norm = 2 * width
        encoder = self.num_encoder_layers * (attention + feed_forward + 2 * norm)
        decoder = self.num_decoder_layers * (2 * attention + feed_forward + 3 * norm)
        final_norms = 2 * norm if self.norm == "pre" else 0
        source, target = self.source_vocab_size, self.target_vocab_size
        tokens = {"all": source, "target": source + target, "none": source + 2 * target}
        learned = 2 * (self.max_positions or 0) * width
        return encoder + decoder + final_norms + tokens[self.share_embeddings] * width + learned

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TransformerConfig":
        """Builds a config from `to_dict`'s result; an unknown field is an error."""
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(
                f"unknown config field(s) {', '.join(unknown)}: expected only "
                f"{', '.join(sorted(known))}."
            )
        return cls(**values)

    def to_json(self) -> str:
        """Returns the config as a JSON text."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "TransformerConfig":
        """Reads `to_json`'s text back."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def load(cls, path: str | Path) -> "TransformerConfig":
        """Reads a config from a JSON file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))
