"""Fields of the embeddings, common to the configs of all models: positions, scale, norm; and what
other models may add to them.
"""

import dataclasses
import itertools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self

from keras_transformer.config.block_options import BlockOptions
from keras_transformer.config.checks import check_choice, check_size
from keras_transformer.config.family import FAMILIES, FamilyName
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.config.special_ids import SpecialIds

Positions = Literal["sinusoidal", "learned", "none"]
SinusoidLayout = Literal["interleaved", "halves", "tensor2tensor"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureConfig:
    """The states of another model that are read for each word.

    Args:
        num_layers: The layers whose states are mixed.
        width: Features of a state.

    Raises:
        ValueError: A size is below 1.
        TypeError: A size is not an integer.
    """

    num_layers: int
    width: int

    def __post_init__(self) -> None:
        check_size("num_layers", self.num_layers)
        check_size("width", self.width)


class Cluster(NamedTuple):
    """Ids of about the same frequency, whose vectors have one width."""

    begin: int
    size: int
    width: int


def clusters_of(
    vocab_size: int, model_dim: int, cutoffs: Sequence[int], div_value: int
) -> tuple[Cluster, ...]:
    """Divides a vocabulary, the most frequent ids first (Grave et al. 2017).

    Args:
        vocab_size: Number of ids.
        model_dim: Width of vectors in the first cluster.
        cutoffs: The first id of each cluster but the first.
        div_value: How many times narrower vectors are in each cluster than in the one before.

    Raises:
        ValueError: A cutoff is out of order or of the vocabulary, or a width would be below 1.
        TypeError: A number is no integer.

    Example:
        >>> clusters_of(10_000, 128, [2000], div_value=4)
        (Cluster(begin=0, size=2000, width=128), Cluster(begin=2000, size=8000, width=32))
    """
    for cutoff in cutoffs:
        check_size("each of cutoffs", cutoff)
    check_size("div_value", div_value)
    edges = [0, *cutoffs, vocab_size]
    if any(one >= other for one, other in itertools.pairwise(edges)):
        raise ValueError(
            f"cutoffs must rise and be smaller than the vocabulary of {vocab_size} ids, got "
            f"{', '.join(map(str, cutoffs))}."
        )
    widths = [model_dim // div_value**number for number in range(len(edges) - 1)]
    if not widths[-1]:
        raise ValueError(
            f"div_value={div_value} leaves vectors of width 0 to the last of {len(widths)} "
            f"clusters, of model_dim={model_dim}: lower div_value, or give fewer cutoffs."
        )
    sizes = (end - begin for begin, end in itertools.pairwise(edges))
    return tuple(map(Cluster, edges[:-1], sizes, widths))


def feature_input(number: int) -> str:
    """Returns the name of a model's input of features `(batch, length, layers, width)`."""
    return f"features_{number}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbeddedConfig(BlockOptions):
    """Blocks, and the embeddings in front of them.

    Args:
        positions: "sinusoidal" (Vaswani et al. 2017, section 3.5), "learned", or "none" if
            attention knows positions by itself.
        max_positions: Longest sequence in tokens with "learned" positions; allowed only there.
        position_offset: What the first token's position counts as; with "learned" positions, rows
            of the matrix before it that are not read.
        sinusoid_layout: "interleaved" as in the paper, or "halves": all sines, then all cosines;
            "tensor2tensor": halves with the rates of Tensor2Tensor, Marian and fairseq, whose
            slowest is 1/10000.
        scale_embeddings: Whether tokens are multiplied by √model_dim.
        embedding_norm: Whether the sum of embeddings is normalized, by a LayerNorm.
        **block_fields: As for `BlockOptions`.

    Raises:
        ValueError: A value is out of range or two of them do not match; the message names them.
        TypeError: A size is not an integer or a rate is not a number.
    """

    # Names the family in a file.
    family: ClassVar[FamilyName]
    presets: ClassVar[dict[str, dict[str, Any]]]

    positions: Positions = "sinusoidal"
    max_positions: int | None = None
    position_offset: int = 0
    sinusoid_layout: SinusoidLayout = "interleaved"
    scale_embeddings: bool = True
    embedding_norm: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size("position_offset", self.position_offset, least=0)
        if self.max_positions is not None:
            check_size("max_positions", self.max_positions)
        if (self.positions == "learned") != (self.max_positions is not None):
            raise ValueError(
                "max_positions is needed with positions='learned' and only there, got "
                f"positions={self.positions!r} and max_positions={self.max_positions}."
            )
        if self.positions != "sinusoidal" and self.sinusoid_layout != "interleaved":
            raise ValueError(
                f"sinusoid_layout={self.sinusoid_layout!r} needs positions='sinusoidal', got "
                f"positions={self.positions!r}."
            )
        least = {"interleaved": 1, "halves": 2, "tensor2tensor": 4}[self.sinusoid_layout]
        odd = self.sinusoid_layout != "interleaved" and self.embedded_dim % 2
        if odd or self.embedded_dim < least:
            raise ValueError(
                f"sinusoid_layout={self.sinusoid_layout!r} needs embeddings of an even width of at "
                f"least {least}, got {self.embedded_dim}."
            )
        if self.positions == "none" and self.position_offset:
            raise ValueError(
                f"position_offset={self.position_offset} needs positions, got positions='none'."
            )

    @classmethod
    def preset(cls, name: str, *, vocab_size: int, **overrides: Any) -> Self:
        """Returns a named size.

        Args:
            name: One of `presets`.
            vocab_size: Size of the vocabulary, special ids included; if there are two, of both.
            **overrides: Any field of the config, replacing the preset's value.
        """
        check_choice("preset", name, cls.presets)
        size = FAMILIES[cls.family].vocabulary_fields[0]
        return cls(**{size: vocab_size, **cls.presets[name], **overrides})

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Builds a config from `to_dict`'s result; an unknown field is an error."""
        values = dict(values)
        family = values.pop("family", cls.family)
        if family != cls.family:
            raise ValueError(f"family must be {cls.family!r}, got {family!r}.")
        known = {field.name for field in dataclasses.fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ValueError(
                f"unknown config field(s) {', '.join(unknown)}: expected only "
                f"{', '.join(sorted(known))}."
            )
        parts = {"special_ids": SpecialIds, "marks": SentenceMarks}
        for name, part in parts.items():
            if isinstance(values.get(name), dict):
                values[name] = part(**values[name])
        return cls(**values)

    def to_json(self) -> str:
        """Returns the config as a JSON text."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads `to_json`'s text back."""
        return cls.from_dict(json.loads(text))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a config from a JSON file."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    @property
    def embedded_dim(self) -> int:
        """Width of embeddings."""
        return self.model_dim

    def embedding_parameters(self) -> int:
        """Returns the number of trainable scalars beside the matrix of tokens."""
        rows = 0 if self.max_positions is None else self.max_positions + self.position_offset
        return (rows + 2 * self.embedding_norm) * self.embedded_dim

    def embedding_arguments(self) -> dict[str, Any]:
        """Returns the arguments of the `Embeddings` layer but for its vocabulary."""
        return {
            "model_dim": self.embedded_dim,
            "max_positions": self.max_positions,
            "dropout": self.dropout,
            "add_positions": self.positions != "none",
            "position_offset": self.position_offset,
            "sinusoid_layout": self.sinusoid_layout,
            "norm_epsilon": self.layer_norm_epsilon if self.embedding_norm else None,
            "scale": self.scale_embeddings,
        }
