"""Fields common to the configs of models with one stack: vocabulary, embeddings, blocks."""

import dataclasses
from typing import Any

from keras_transformer.config.checks import check_size, make_numbers_plain
from keras_transformer.config.embedding import EmbeddedConfig, Positions
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

    def to_dict(self) -> dict[str, Any]:
        """Returns the family and the fields as plain JSON values."""
        fields = {**super().to_dict(), "special_ids": self.special_ids.to_dict()}
        return {"family": self.family, **fields}
