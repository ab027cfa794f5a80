"""A shortlist gives each text the candidates of its own tokens, and refuses arrays that contradict
each other."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.artefact.shortlist import FILLER, Shortlist

SOURCES, TARGETS = 7, 20
LISTS = [[], [4, 11], [5], [], [11, 6, 19], [0], [7, 8, 9]]
ROWS = st.lists(st.lists(st.integers(0, SOURCES - 1), max_size=5), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def shortlist() -> Shortlist:
    return Shortlist.of_lists(LISTS, [3, 1], TARGETS, "a test")


@given(rows=ROWS, data=st.data())
@settings(max_examples=60)
def test_each_row_has_its_own_candidates_whatever_the_others_are(
    shortlist: Shortlist, rows: list[list[int]], data: Any
) -> None:
    ids = st.lists(st.integers(0, TARGETS - 1), max_size=3)
    required = data.draw(st.lists(ids, min_size=len(rows), max_size=len(rows)))
    listed = shortlist.choose(rows, required)
    wanted = [
        {1, 3, *extra, *(token for source in row for token in LISTS[source])}
        for row, extra in zip(rows, required, strict=True)
    ]
    for places, own in zip(listed.places, wanted, strict=True):
        assert listed.ids[places[places != FILLER]].tolist() == sorted(own)
        assert (places[len(own) :] == FILLER).all()
    assert listed.ids.tolist() == sorted(set().union(*wanted))
    labels = np.array([[3, 1, *extra, *[3] * 3][:3] for extra in required], np.int32)
    found = listed.labels(labels)
    for row, places, own in zip(labels, found, listed.places, strict=True):
        np.testing.assert_array_equal(listed.ids[own[places]], row)


def test_what_is_written_is_read_back(shortlist: Shortlist, tmp_path: Path) -> None:
    shortlist.write(tmp_path / "shortlist.npz")
    read = Shortlist.read(tmp_path / "shortlist.npz", TARGETS)
    assert [read.candidates(token).tolist() for token in range(SOURCES)] == list(map(sorted, LISTS))
    assert read.always.tolist() == [1, 3]
    assert (read.source_vocab_size, read.candidates_of_each) == (SOURCES, 2.0)
    with pytest.raises(ValueError, match="must lie in 0 to 11, the target vocabulary, got 0 to 19"):
        Shortlist.read(tmp_path / "shortlist.npz", 12)
    (tmp_path / "shortlist.npz").write_bytes(b"PK\3\4")
    with pytest.raises(ValueError, match="is no shortlist of this model"):
        Shortlist.read(tmp_path / "shortlist.npz", TARGETS)


@pytest.mark.parametrize(
    ("offsets", "ids", "always", "message"),
    [
        ([0, 1], [2, 5], [3], "end with 2"),
        ([1, 2], [2, 5], [3], "begin with 0"),
        ([0, 2, 1, 2], [2, 5], [3], "not decrease"),
        ([0, 2], [5, 2], [3], "must ascend"),
        ([0, 2], [2, 2], [3], "must ascend"),
        ([0, 2], [2, 5], [3, 3], "must ascend"),
        ([0, 2], [2, 5], [], "that of eos"),
        ([0, 2], [2, -1], [3], "must lie in 0 to 19"),
        ([0, 2], [2, 5], [20], "must lie in 0 to 19"),
        ([0, 2], [0.5, 1.5], [3], "row of integers"),
    ],
)
def test_arrays_that_contradict_each_other_are_refused(
    offsets: list[int], ids: list[float], always: list[int], message: str
) -> None:
    values = (np.array(offsets), np.array(ids), np.array(always, int))
    with pytest.raises(ValueError, match=message):
        Shortlist(*values, TARGETS)
