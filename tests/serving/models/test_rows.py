"""What the time of a row grows with."""

from typing import Any

import pytest

from keras_transformer.serving.families.generator import PromptRow
from keras_transformer.serving.models.rows import PairRow, TranslationRow, sizes_of


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [
        (TranslationRow([5], (), 9, 0.6), TranslationRow([5, 6], (), 9, 0.6)),
        (TranslationRow([5], (), 9, 0.6), TranslationRow([5], (), 10, 0.0)),
        (TranslationRow([5], [7], 9, 1.0), TranslationRow([5], [7, 8], 9, 0.6)),
        (PairRow([5], [6]), PairRow([5], [6, 7])),
        (PromptRow("a", 9, 0.6), PromptRow("ab", 9, 0.6)),
        (PromptRow("a", 9, 0.6), PromptRow("a", 10, 0.6)),
        ("a", "ab"),
        (("a", "b"), ("a", "bc")),
    ],
)
def test_longer_rows_and_higher_limits_have_larger_sizes(smaller: Any, larger: Any) -> None:
    first, second = sizes_of(smaller), sizes_of(larger)
    assert len(first) == len(second)
    differences = [after - before for before, after in zip(first, second, strict=True)]
    assert sorted(differences) == [0] * (len(first) - 1) + [1]
