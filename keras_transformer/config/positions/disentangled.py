"""Disentangled attention (He et al. 2021, DeBERTa): vectors of distances that queries and keys are
compared with.
"""

import dataclasses

from keras_transformer.config.checks import MOST_DISTANCE, check_size, make_numbers_plain


@dataclasses.dataclass(frozen=True, kw_only=True)
class DisentangledConfig:
    """Trained vectors of each head for buckets of distances, which scores compare queries and keys
    with.

    Args:
        buckets: Buckets of distances in either direction, an even number. A half of them hold one
            distance each; the others grow with its logarithm.
        max_distance: Distances from here on share a bucket.
    """

    buckets: int = 256
    max_distance: int = 512

    def __post_init__(self) -> None:
        make_numbers_plain(self)
        check_size("relative_max_distance", self.max_distance, most=MOST_DISTANCE)
        check_size("disentangled_buckets", self.buckets, least=4)
        if self.buckets % 2:
            raise ValueError(f"disentangled_buckets must be even, got {self.buckets}.")
        if self.max_distance <= self.buckets // 2 + 1:
            raise ValueError(
                "relative_max_distance must be more than half of disentangled_buckets "
                f"({self.buckets}) and 1, got {self.max_distance}."
            )

    def parameter_count(self, width: int) -> int:
        """Returns the number of trainable scalars, of heads that are so wide together."""
        return 2 * 2 * self.buckets * width
