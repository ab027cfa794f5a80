"""Measures how long a short request takes beside many long ones, compared with its time alone.

    python benchmarks/short_beside_long.py --artefact exported/llama --clients 64 --json beside.json

A client sends short requests, with pauses, first alone and then while `--clients` others send long
ones without a pause; both kinds take turns for `--rounds`. Prints medians and 99th percentiles of
the short ones, how many long ones were answered a second, and whether all answers were the same.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from driver import count, figures, parser_of, publish, tell
from load.servers import MODEL_NAME, our_server
from load.suite import percentile
from speed.machine import describe_machine
from speed.processes import Worker

_PACKAGES = ("onnxruntime", "starlette", "uvicorn")
_COMPLETIONS = "/v1/completions"
_MOST_AT_MEDIAN, _MOST_AT_P99 = 1.5, 3.0


def run(given: argparse.Namespace, result: dict[str, Any]) -> None:
    """Drives the server in turns and adds what was found."""
    bodies = {
        name: {
            "model": MODEL_NAME,
            "prompt": [1, *range(100, 100 + given.prompt)],
            "max_tokens": tokens,
        }
        for name, tokens in (("short", given.short), ("long", given.long))
    }
    alone: list[float] = []
    beside: list[float] = []
    answers, long, seconds = set(), 0, 0.0
    with (
        our_server(given.artefact, "--request-timeout", "600") as server,
        Worker("load.mixed", name="the clients") as driver,
    ):
        for number in range(given.rounds + 1):
            for clients, latencies in ((0, alone), (given.clients, beside)):
                found = driver.ask(
                    "drive",
                    port=server.port,
                    path=_COMPLETIONS,
                    clients=clients,
                    seconds=given.seconds if number else 1.0,
                    pause=given.pause,
                    **bodies,
                )
                server.settle()
                answers |= {*found["answers"]}
                if number:  # The first round only warms up.
                    latencies += found["latencies"]
                    long, seconds = long + found["long"], seconds + bool(clients) * found["seconds"]
                    tell(f"{clients} long: {1000 * median(found['latencies']):.0f} ms")
    result["seconds"] = {"alone": alone, "beside": beside}
    result["long_rate"] = long / seconds
    result["answers"] = len(answers)


def report(result: dict[str, Any]) -> str:
    """Writes the figures as sentences."""
    alone, beside = (sorted(result["seconds"][name]) for name in ("alone", "beside"))
    ratios = [percentile(beside, percent) / percentile(alone, 50) for percent in (50, 99)]
    return (
        f"{len(alone)} short requests alone: {1000 * percentile(alone, 50):.0f} ms, p99 "
        f"{1000 * percentile(alone, 99):.0f} ms. {len(beside)} beside {result['clients']} long "
        f"ones: {1000 * percentile(beside, 50):.0f} ms, p99 {1000 * percentile(beside, 99):.0f} ms,"
        f" {ratios[0]:.2f} and {ratios[1]:.2f} times the median alone (must: ≤ {_MOST_AT_MEDIAN} "
        f"and ≤ {_MOST_AT_P99}). {result['long_rate']:.2f} long requests a second. "
        f"{result['answers']} different answers to the short request.\n"
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = parser_of(__doc__.splitlines()[0], "json")
    add = parser.add_argument
    add("--artefact", type=Path, required=True, help="an ONNX artefact of a generator")
    add("--clients", type=count, default=64, help="clients with long requests")
    add("--prompt", type=count, default=16, help="tokens of every prompt")
    add("--short", type=count, default=32, help="new tokens of a short request")
    add("--long", type=count, default=256, help="new tokens of a long one")
    add("--seconds", type=float, default=60.0, help="how long each turn lasts")
    add("--rounds", type=count, default=2, help="turns of both")
    add("--pause", type=float, default=0.5, help="most seconds between two short requests")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark."""
    given = parse(arguments)
    asked = {name: getattr(given, name) for name in ("clients", "prompt", "short", "long")}
    with figures(__file__, given.json, machine=describe_machine(_PACKAGES), **asked) as result:
        run(given, result)
    publish(report(result), given.json)


if __name__ == "__main__":
    main()
