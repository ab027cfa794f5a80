"""The whole measurement: for each number of clients the servers take turns, and so does the bare
translator if there is one client.
"""

import dataclasses
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from speed.processes import Worker

from .servers import MODEL_NAME, Server

OURS, PLAIN = "ours", "plain"
_PATH = f"/v1/models/{MODEL_NAME}:predict"
_WARM_UP_SECONDS = 1.0


@dataclasses.dataclass(frozen=True)
class Load:
    """What the servers have to bear.

    Attributes:
        sentences: What the clients send.
        expected: The bare translator's answers.
        seconds: How long each server is driven, all rounds together.
        rounds: Turns of each server.
    """

    sentences: Sequence[str]
    expected: Sequence[str]
    seconds: float
    rounds: int


def measure_load(
    load: Load, clients: int, servers: Mapping[str, Server], driver: Worker, bare: Worker
) -> dict[str, Any]:
    """Measures one number of clients.

    Args:
        load: What is sent, and how long.
        clients: Clients at the same time.
        servers: `OURS` and `PLAIN`.
        driver: The clients' process, `load.clients`.
        bare: The translator's process, `load.bare`; takes turns where `clients` is 1.

    Returns:
        "clients"; for each server the fields of `summary`; "ratio", our requests a second over the
        plain server's, with "ratio_low" and "ratio_high" of a round; where `clients` is 1
        "bare_p50" in seconds and "over_bare", our p50 over it.
    """
    turns: dict[str, list[dict[str, Any]]] = {name: [] for name in servers}
    bare_seconds: list[float] = []
    for number, seconds in enumerate(_turns(load)):
        for name, server in servers.items():
            turn = _drive(load, clients, server, driver, seconds)
            if number:
                turns[name].append(turn)
        if clients == 1:
            found = bare.ask("measure", texts=load.sentences, seconds=seconds)
            bare.settle()
            if number:
                bare_seconds += found
    row = {"clients": clients, **{name: summary(found) for name, found in turns.items()}}
    row["ratio"] = row[OURS]["rate"] / row[PLAIN]["rate"]
    ratios = [_rate([a]) / _rate([b]) for a, b in zip(turns[OURS], turns[PLAIN], strict=True)]
    row["ratio_low"], row["ratio_high"] = min(ratios), max(ratios)
    if bare_seconds:
        row["bare_p50"] = statistics.median(bare_seconds)
        row["over_bare"] = row[OURS]["p50"] / row["bare_p50"]
    return row


def summary(turns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Puts the turns of one server together.

    Args:
        turns: Results of `LoadClients.drive`, with "batches" and "batched_sentences".

    Returns:
        "requests" answered correctly, "rate" (those a second), "p50" and "p99" in seconds, "batch"
        (mean sentences; None if the server reports none), "lost", "wrong", "complaints" and
        "client_cores".

    Raises:
        RuntimeError: No request was answered correctly.
    """
    latencies = sorted(latency for turn in turns for latency in turn["latencies"])
    complaints = [complaint for turn in turns for complaint in turn["complaints"]]
    if not latencies:
        raise RuntimeError(f"no request was answered correctly: {complaints[:3]}")
    batches = sum(turn["batches"] for turn in turns)
    return {
        "requests": len(latencies),
        "rate": _rate(turns),
        "p50": percentile(latencies, 50),
        "p99": percentile(latencies, 99),
        "batch": sum(turn["batched_sentences"] for turn in turns) / batches if batches else None,
        "lost": sum(turn["lost"] for turn in turns),
        "wrong": sum(turn["wrong"] for turn in turns),
        "complaints": complaints,
        "client_cores": statistics.mean(turn["client_cores"] for turn in turns),
    }


def _turns(load: Load) -> Iterator[float]:
    """Seconds of each turn; the first only warms up."""
    yield _WARM_UP_SECONDS
    for _ in range(load.rounds):
        yield load.seconds / load.rounds


def drive(
    load: Load, clients: int, server: Server, driver: Worker, seconds: float
) -> dict[str, Any]:
    """Drives a server for some seconds; returns what `clients.drive` says of the answers.

    Args:
        load: What is sent and expected.
        clients: Clients at the same time.
        server: Answers.
        driver: The process of the clients.
        seconds: How long.
    """
    return driver.ask(
        "drive",
        port=server.port,
        path=_PATH,
        sentences=load.sentences,
        expected=load.expected,
        clients=clients,
        seconds=seconds,
    )


def _drive(
    load: Load, clients: int, server: Server, driver: Worker, seconds: float
) -> dict[str, Any]:
    before = server.batches()
    turn = drive(load, clients, server, driver, seconds)
    after = server.batches()
    server.settle()
    turn["batches"], turn["batched_sentences"] = (b - a for a, b in zip(before, after, strict=True))
    return turn


def _rate(turns: Sequence[Mapping[str, Any]]) -> float:
    answered = sum(len(turn["latencies"]) for turn in turns)
    return answered / sum(turn["seconds"] for turn in turns)


def percentile(ordered: Sequence[float], percent: int) -> float:
    """Returns the smallest value that at least `percent` % of the values do not exceed."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
