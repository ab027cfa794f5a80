"""A model's limits, for what is checked before any search."""

from collections.abc import Callable

import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.model_limits import ModelLimits


@pytest.fixture(scope="session")
def limits() -> Callable[..., ModelLimits]:
    """`limits(max_positions, **marks)`: those of a model of so many learned positions."""

    def of(max_positions: int | None, **marks: int) -> ModelLimits:
        return ModelLimits(
            source_vocab_size=24,
            target_vocab_size=24,
            special_ids=SpecialIds(),
            max_positions=max_positions,
            **marks,
        )

    return of
