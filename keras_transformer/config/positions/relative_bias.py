"""Trained biases of scores by distance (Raffel et al. 2020)."""

import dataclasses

from keras_transformer.config.checks import (
    MOST_DISTANCE,
    check_flag,
    check_size,
    make_numbers_plain,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RelativeBiasConfig:
    """Trained biases of scores, one a head for each bucket of distances (Raffel et al. 2020).

    Args:
        buckets: An even number.
        max_distance: Distances from here on share a bucket.
        per_block: Whether the block has biases of its own (UMT5, Chung et al. 2023) instead of
            those that its stack's blocks share.
    """

    buckets: int = 32
    max_distance: int = 128
    per_block: bool = False

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_size("relative_max_distance", self.max_distance, most=MOST_DISTANCE)
        check_size("relative_buckets", self.buckets, least=4)
        check_flag("relative_per_block", self.per_block)
        if self.buckets % 2:
            raise ValueError(f"relative_buckets must be even, got {self.buckets}.")
        if self.max_distance <= self.buckets // 2:
            raise ValueError(
                "relative_max_distance must be more than half of relative_buckets "
                f"({self.buckets}), got {self.max_distance}."
            )
