"""All own pairs and as many general ones as make up the share, whatever the sizes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.mixing import mixed


def pairs(name: str, count: int) -> Pairs:
    return Pairs(
        [f"{name} {place}" for place in range(count)],
        [f"{name.upper()} {place}" for place in range(count)],
        name,
    )


@given(st.integers(1, 60), st.integers(1, 200), st.floats(0.05, 0.95))
def test_own_pairs_come_whole_and_general_ones_fill_their_share(
    own: int, general: int, share: float
) -> None:
    found = mixed(pairs("own", own), pairs("general", general), share)
    assert list(found.source[:own]) == list(pairs("own", own).source)
    drawn = found.source[own:]
    assert len(drawn) == min(general, max(round(own * share / (1 - share)), 1))
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= set(pairs("general", general).source)


def test_pairs_stay_pairs_and_the_sample_is_the_same_each_time() -> None:
    found, again = (mixed(pairs("own", 5), pairs("general", 99), 0.8) for _ in range(2))
    assert [text.lower() for text in found.target] == [text.lower() for text in found.source]
    assert found == again
    assert found.origin == "own, and 20 pairs of general"


@pytest.mark.parametrize("share", [0.0, 1.0, -0.5, 7.0])
def test_a_share_that_is_none_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=rf"general_share is a share in \(0, 1\), got {share}"):
        mixed(pairs("own", 2), pairs("general", 2), share)
