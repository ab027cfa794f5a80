"""The comparison of encoders: loads, the check that stands before it, its arithmetic."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from encoding.engine import EncoderEngine, padded
from encoding.real_lengths import real_rows
from encoding.sizes import SIZES, EncoderSize
from encoding.suite import (
    check_states,
    compared_rows,
    cosine,
    even_loads,
    measure_load,
    real_loads,
)

MINI = SIZES["mini"]


class Scripted:
    """A worker that answers as slowly as it is told."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def ask(self, do: str, **arguments: Any) -> Any:
        assert do == "measure"
        return {"seconds": self.seconds, "cpu_seconds": 2 * self.seconds}

    def settle(self) -> None:
        pass


class Doubling(EncoderEngine):
    """States are ids twice, padded."""

    def load(self, folder: str, precision: str) -> None:
        pass

    def prepare(self, rows: list[list[int]]) -> Any:
        return padded(rows)[0]

    def run(self, prepared: Any) -> Any:
        return np.repeat(prepared[:, :, None], 2, axis=2)

    def to_states(self, result: Any) -> Any:
        return result


def test_rows_have_the_lengths_that_are_asked_for() -> None:
    rows = MINI.rows([2, 9, 5])
    assert [len(row) for row in rows] == [2, 9, 5]
    assert all(row[0] == 2 and row[-1] == 3 for row in rows)
    assert all(3 < token < MINI.vocab_size for row in rows for token in row[1:-1])
    assert rows == MINI.rows([2, 9, 5])


def test_a_load_for_each_length_and_batch() -> None:
    loads = even_loads(MINI, [1, 4], [5, 16])
    assert [(load.name, load.batch, load.tokens) for load in loads] == [
        *(("5", 1, 5), ("5", 4, 20), ("16", 1, 16), ("16", 4, 64)),
    ]


@pytest.mark.parametrize("length", [1, 65])
def test_a_length_that_the_model_has_not_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"must be 2 to 64 tokens for mini, got {length}"):
        even_loads(MINI, [1], [length])


def test_real_rows_stay_in_their_order() -> None:
    rows = [[2, 3], [2, 9, 3], [2, 8, 7, 3]]
    (one, two) = real_loads(rows, [1, 2])
    assert one.batches == [[row] for row in rows]
    assert two.batches == [rows[:2], rows[2:]]
    assert one.tokens == two.tokens == 9


def test_real_rows_are_as_long_as_their_sentences(tmp_path: Path) -> None:
    path = tmp_path / "sentences.txt"
    words = [first + second for first in "abcdefgh" for second in "ijklmnop"]
    lines = ["ai bj ck", "dl", " ".join(words[:9]), *(" ".join(words) for _ in range(30))]
    path.write_text("\n".join(lines) + "\n")
    rows = real_rows(MINI, path, most=3)
    assert len(rows) == 3
    assert len(rows[1]) < len(rows[0]) < len(rows[2]) <= MINI.longest
    assert max(token for row in rows for token in row) < MINI.vocab_size


def test_a_file_without_sentences_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(ValueError, match=r"empty\.txt holds no sentence"):
        real_rows(MINI, tmp_path / "empty.txt", most=3)


def test_the_ratio_is_that_to_the_fastest_peer() -> None:
    workers: Any = {"ours": Scripted(2.0), "A × 1": Scripted(6.0), "B × 2": Scripted(3.0)}
    row = measure_load(even_loads(MINI, [2], [12])[0], workers, rounds=3)
    assert (row["ours"], row["peer"], row["ratio"]) == (12, 8, 1.5)
    assert row["peer_name"] == "B × 2"
    assert row["cpu_seconds"] == {"ours": 4, "A × 1": 12, "B × 2": 6}


def test_equal_float32_states_pass_with_their_difference() -> None:
    ours = np.zeros((3, 2))
    assert check_states("mini", {"ours": ours, "A": ours + 5e-4}) == pytest.approx(5e-4)


@pytest.mark.parametrize("wrong", [2e-3, np.nan])
def test_other_float32_states_are_an_error(wrong: float) -> None:
    ours = np.zeros((3, 2))
    with pytest.raises(ValueError, match="mini: float32 states of A differ from ours"):
        check_states("mini", {"ours": ours, "A": ours + wrong})


def test_the_row_that_is_most_unlike_counts() -> None:
    exact = np.array([[2.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    found = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert cosine(exact, exact, np.array([2])) == pytest.approx(1)
    assert cosine(found, exact, np.array([2])) == pytest.approx(2**-0.5)


def test_a_trained_run_is_compared_on_its_own_texts(tmp_path: Path) -> None:
    rows = [[2, 9, 3], [2, 8, 7, 3]]
    trained = EncoderSize(name="run", preset="bert-tiny", run=tmp_path)
    assert compared_rows(trained, real_loads(rows, [1])) == rows
    assert [len(row) for row in compared_rows(MINI, real_loads(rows, [1]))] == [3, 4, 3, 4]


def test_an_engine_saves_the_states_of_real_tokens_only(tmp_path: Path) -> None:
    Doubling().save_states([[4, 5, 6], [7]], str(tmp_path / "states.npy"))
    assert np.load(tmp_path / "states.npy").tolist() == [[4, 4], [5, 5], [6, 6], [7, 7]]


def test_an_engine_counts_wall_and_cpu_time() -> None:
    found = Doubling().measure([[[4, 5]], [[6]]], times=3)
    assert found["seconds"] > 0
    assert found["cpu_seconds"] >= 0
