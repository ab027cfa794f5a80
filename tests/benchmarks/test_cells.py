"""The comparison's arithmetic, and the check that stands before it."""

from typing import Any

import pytest
from speed.cells import (
    SPLIT,
    Cell,
    agreement,
    beam_size,
    check_float32,
    compare,
    measure_cell,
    measure_column,
)
from speed.sizes import SIZES

MINI = SIZES["mini"]


class Scripted:
    """A worker that answers from a table."""

    def __init__(self, name: str, **answers: Any) -> None:
        self.name, self.answers, self.asked = name, answers, 0

    def ask(self, do: str, **arguments: Any) -> Any:
        self.asked += 1
        answer = self.answers[do]
        return answer.pop(0) if isinstance(answer, list) and do != "decode" else answer

    def settle(self) -> None:
        pass


def timed(seconds: float, processor: float = 0.0) -> dict[str, float]:
    return {"seconds": seconds, "cpu_seconds": processor}


@pytest.mark.parametrize(("name", "size"), [("greedy", 1), ("beam2", 2), ("beam4", 4)])
def test_a_search_has_a_beam_size(name: str, size: int) -> None:
    assert beam_size(name) == size


@pytest.mark.parametrize("name", ["", "beam", "beam1", "beam-4", "4", "sample"])
def test_an_unknown_search_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="search must be greedy, or beam and a size"):
        beam_size(name)


def test_the_ratio_is_that_of_medians_to_the_faster_peer() -> None:
    found = compare({"ours": [1.0, 2.0, 4.0], "1": [5.0, 6.0, 6.0], "2": [9.0, 3.0, 9.0]}, 60)
    assert found["ours"] == 30
    assert found["peers"] == {"1": 10, "2": pytest.approx(60 / 9)}
    assert (found["peer"], found["peer_name"]) == (10, "1")
    assert found["ratio"] == 3


def test_the_spread_is_that_of_the_rounds() -> None:
    found = compare({"ours": [1.0, 2.0, 4.0], "1": [5.0, 6.0, 6.0]}, 60)
    assert (found["ratio_low"], found["ratio_high"]) == (1.5, 5.0)


def test_a_cell_counts_the_tokens_of_one_translation_for_each_sentence() -> None:
    cell = Cell(MINI, 5, "beam4", "float32")
    assert cell.tokens == 5 * MINI.target_tokens
    assert cell.request["beam_size"] == 4
    assert [len(row) for row in cell.request["rows"]] == [MINI.source_tokens - 1] * 5


def test_a_cell_of_a_text_has_its_lengths_and_counts_its_sources() -> None:
    cell = Cell(MINI.of_text("captions", [3, 9, 2]), 4, "greedy", "float32")
    assert [len(row) + 1 for row in cell.request["rows"]] == [3, 9, 2, 3]
    assert (cell.tokens, cell.request["length"]) == (17, None)
    ids = [[7] * 2, [7] * 8, [7], [7] * 2]
    ours, peer = Scripted("ours", decode=ids), Scripted("it", decode=ids)
    assert check_float32(cell, ours, peer) == (ids, 1.0)


@pytest.mark.parametrize(("batch", "splits"), [(1, False), (2, True)])
def test_split_batches_stand_beside_the_ratio(batch: int, splits: bool) -> None:
    workers = {
        name: Scripted(name, measure=[timed(seconds, one) for one in (9.0, 9.0, used, used, used)])
        for name, seconds, used in (("ours", 1.0, 1.0), ("1", 3.0, 2.5), (SPLIT, 2.0, 3.0))
    }
    row = measure_cell(Cell(MINI, batch, "greedy", "int8"), workers, rounds=3)
    assert (row["ratio"], row["peer_name"]) == (3, "1")
    assert row["ratio_processor"] == 2.5  # What warms up does not count.
    assert row.get("ratio_split") == (2 if splits else None)


def test_agreement_is_the_share_of_equal_tokens() -> None:
    assert agreement([[1, 2, 3, 4], [5, 6, 7, 8]], [[1, 2, 9, 4], [5, 6, 7, 8]]) == 7 / 8


def test_equal_float32_ids_pass() -> None:
    ids = [[7] * MINI.target_tokens] * 2
    cell = Cell(MINI, 2, "greedy", "float32")
    ours, peer = Scripted("ours", decode=ids), Scripted("it", decode=ids)
    assert check_float32(cell, ours, peer) == (ids, 1.0)


def test_one_sentence_of_many_may_differ_by_rounding_and_is_counted() -> None:
    ids = [[7] * MINI.target_tokens] * 64
    ours = Scripted("ours", decode=ids)
    peer = Scripted("it", decode=[*ids[1:], [8] * MINI.target_tokens])
    _, equal = check_float32(Cell(MINI, 64, "greedy", "float32"), ours, peer)
    assert equal == 63 / 64


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([7] * 5 + [8], "mini, greedy, batch 2, float32: 1 of 2 sentences differ, first number 1"),
        ([7] * 5, "ours gave 5 tokens instead of 6"),
    ],
)
def test_other_float32_ids_are_an_error(row: list[int], message: str) -> None:
    right = [7] * MINI.target_tokens
    ours, peer = Scripted("ours", decode=[right, row]), Scripted("it", decode=[right, right])
    with pytest.raises(ValueError, match=message):
        check_float32(Cell(MINI, 2, "greedy", "float32"), ours, peer)


@pytest.mark.parametrize(
    ("seconds", "asked", "rate"), [([1.0, 0.5, 0.5, 0.5], 4, 12 / 0.5), ([6.0], 1, 12 / 6)]
)
def test_a_slow_column_is_measured_once(seconds: list[float], asked: int, rate: float) -> None:
    worker = Scripted("slow", decode=[[1], [2]], measure=list(map(timed, seconds)))
    assert measure_column(Cell(MINI, 2, "greedy", "float32"), worker) == (rate, [[1], [2]])
    assert worker.asked == asked + 1
