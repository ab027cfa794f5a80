"""Fields common to the configs of models with one stack: vocabulary, embeddings, blocks."""

import dataclasses
import json
from pathlib import Path
from typing import Any, ClassVar, Self

from keras_transformer.config.checks import check_choice, check_size, make_numbers_plain
from keras_transformer.config.embedding import EmbeddedConfig, Positions
from keras_transformer.config.family import FamilyName
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.config.stack import StackConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class SingleStackConfig(EmbeddedConfig):
    """Sizes and choices of a model with one stack.

    Args:
        vocab_size: Number of token ids, special ids included.
        num_layers: Blocks N.
        special_ids: The ids that are not text.
        **fields: As for `EmbeddedConfig`.

    Raises:
        ValueError: A value is out of range or two of them do not match; the message names them.
        TypeError: A size is not an integer or a rate is not a number.
    """

    # Names the family in a file.
    family: ClassVar[FamilyName]
    presets: ClassVar[dict[str, dict[str, Any]]]

    vocab_size: int
    num_layers: int = 12
    positions: Positions = "learned"
    max_positions: int | None = 512
    scale_embeddings: bool = False
    special_ids: SpecialIds = SpecialIds()

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_size("vocab_size", self.vocab_size, least=5)
        super().__post_init__()
        check_size("num_layers", self.num_layers)
        if not isinstance(self.special_ids, SpecialIds):
            raise TypeError(f"special_ids must be SpecialIds, got {self.special_ids!r}.")
        if self.special_ids.highest >= self.vocab_size:
            raise ValueError(
                f"special_ids names the id {self.special_ids.highest}, but the vocabulary has the "
                f"ids 0 to {self.vocab_size - 1}."
            )

    @property
    def stack(self) -> StackConfig:
        """The stack of blocks."""
        return self.stack_of(self.num_layers)

    @classmethod
    def preset(cls, name: str, *, vocab_size: int, **overrides: Any) -> Self:
        """Returns a named size.

        Args:
            name: One of `presets`.
            vocab_size: Size of the vocabulary, special ids included.
            **overrides: Any field of the config, replacing the preset's value.
        """
        check_choice("preset", name, cls.presets)
        return cls(**{"vocab_size": vocab_size, **cls.presets[name], **overrides})

    def to_dict(self) -> dict[str, Any]:
        """Returns the family and the fields as plain JSON values."""
        fields = {**super().to_dict(), "special_ids": self.special_ids.to_dict()}
        return {"family": self.family, **fields}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Builds a config from `to_dict`'s result; an unknown field is an error."""
        values = dict(values)
        family = values.pop("family", cls.family)
        if family != cls.family:
            raise ValueError(f"family must be {cls.family!r}, got {family!r}.")
        known = {field.name for field in dataclasses.fields(cls)}
        unknown = sorted(set(values) - known)
        if unknown:
            raise ValueError(
                f"unknown config field(s) {', '.join(unknown)}: expected only "
                f"{', '.join(sorted(known))}."
            )
        special_ids = values.get("special_ids", SpecialIds())
        if isinstance(special_ids, dict):
            special_ids = SpecialIds(**special_ids)
        return cls(**{**values, "special_ids": special_ids})

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
