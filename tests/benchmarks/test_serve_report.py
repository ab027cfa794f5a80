"""The load benchmark's figures: percentiles, ratios, verdict, failures."""

from typing import Any

import pytest
from load import report
from load.suite import Load, measure_load, summary

TURN = {
    "latencies": [0.001 * number for number in range(1, 101)],
    "seconds": 2.0,
    "lost": 0,
    "wrong": 0,
    "complaints": [],
    "client_cores": 0.25,
    "batches": 10,
    "batched_sentences": 100,
}


def test_turns_are_summed_up() -> None:
    slow = {**TURN, "latencies": [1.0] * 2, "lost": 1, "complaints": ["late"], "seconds": 1.0}
    found = summary([TURN, slow])
    assert found["requests"] == 102
    assert found["rate"] == pytest.approx(102 / 3)
    assert found["p50"] == pytest.approx(0.051)
    assert found["p99"] == 1.0
    assert found["batch"] == 10
    assert (found["lost"], found["wrong"], found["complaints"]) == (1, 0, ["late"])


def test_percentiles_are_values_that_were_measured() -> None:
    found = summary([TURN])
    assert found["p50"] == 0.05
    assert found["p99"] == 0.099


def test_a_server_that_answers_nothing_is_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"no request was answered correctly: \['gone'\]"):
        summary([{**TURN, "latencies": [], "complaints": ["gone"]}])


class Scripted:
    """A server, the clients' process and the bare translator in one; notes who was asked."""

    def __init__(self, port: int, rates: dict[int, int], asked: list[Any]) -> None:
        self.port, self._rates, self._asked = port, rates, asked
        self._batches = 0

    def ask(self, do: str, **arguments: Any) -> Any:
        self._asked.append((do, arguments.get("port"), arguments["seconds"]))
        if do == "measure":
            return [0.004]
        count = self._rates[arguments["port"]]
        return {**TURN, "latencies": [0.005] * count, "seconds": 1.0}

    def settle(self) -> None:
        self._asked.append(("settle", self.port, None))

    def batches(self) -> tuple[float, float]:
        self._batches += 1
        return self._batches, 8.0 * self._batches


def test_servers_and_translator_take_turns() -> None:
    asked: list[Any] = []
    rates = {1: 30, 2: 10}
    servers = {"ours": Scripted(1, rates, asked), "plain": Scripted(2, rates, asked)}
    other = Scripted(0, rates, asked)
    row = measure_load(Load(["a"], ["A"], 6.0, 2), 1, servers, other, other)
    turn = [("drive", 1), ("settle", 1), ("drive", 2), ("settle", 2), ("measure", None)]
    assert [entry[:2] for entry in asked] == [*turn, ("settle", 0)] * 3
    assert [seconds for do, port, seconds in asked if (do, port) == ("drive", 1)] == [1.0, 3.0, 3.0]
    assert row["ratio"] == row["ratio_low"] == row["ratio_high"] == 3
    assert row["ours"]["requests"] == 60
    assert row["ours"]["batch"] == 8
    assert row["bare_p50"] == 0.004
    assert row["over_bare"] == pytest.approx(1.25)


def row(clients: int, **fields: Any) -> dict[str, Any]:
    found = {"ratio": 3.0, "ratio_low": 2.9, "ratio_high": 3.125}
    plain = {**summary([TURN]), "batch": None}
    return {"clients": clients, "ours": summary([TURN]), "plain": plain, **found, **fields}


def test_a_line_for_each_server() -> None:
    text = report.load_table([row(1, over_bare=1.25, bare_p50=0.004), row(64)])
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert len(lines) == 6
    assert {len(line) for line in lines} == {len(lines[0])}
    assert lines[2][:6] == ["1", "ours", "50", "50.0", "99.0", "10.0"]
    assert lines[2][-3:] == ["**3.00**", "2.90–3.12", "1.25"]
    assert lines[3][:6] == ["1", "plain", "50", "50.0", "99.0", "–"]


@pytest.mark.parametrize(
    ("ratio", "over_bare", "verdicts"),
    [(3.0, 1.3, ["reached", "reached"]), (2.99, 1.31, ["missed", "missed"])],
)
def test_the_verdict_names_both_goals(ratio: float, over_bare: float, verdicts: list[str]) -> None:
    rows = [row(1, over_bare=over_bare, bare_p50=0.004), row(16), row(64, ratio=ratio)]
    sentences = report.verdict(rows).rstrip(".").split(". ")
    assert [sentence.rpartition(": ")[2] for sentence in sentences] == verdicts


def test_failures_name_server_clients_and_the_first_complaint() -> None:
    bad = {**summary([TURN]), "lost": 2, "wrong": 1, "complaints": ["first", "second"]}
    assert report.failures([row(1)]) == ""
    text = report.failures([row(1), row(16, ours=bad)])
    assert text == "ours, 16 clients: 2 requests lost, 1 wrong, the first: first"
