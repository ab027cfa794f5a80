"""Measures how many requests `keras-transformer serve` answers, compared with a server of the same
translator that takes one request at a time.

    python benchmarks/serve.py --artefact exported/mine --sentences test.en --json serve.json

Each number of clients drives both servers in turn; every client checks that each answer is the bare
translator's for the very sentence it sent. Prints requests a second, latencies and batch sizes, and
with `--json FILE` writes all figures to FILE and the table to FILE with the ending .md. Ends with
status 1 if a request was lost or answered wrongly.

    python benchmarks/serve.py --artefact exported/mine --sentences test.en --clients 32 --soak 1800

drives our server alone for 1,800 seconds, on the loopback interface, while new versions of its
model are loaded again and again, and prints its memory.
"""

import argparse
import itertools
import random
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from driver import count, figures, items, paragraphs, parser_of, publish, tell
from load import report
from load.servers import our_server, plain_server
from load.soak import soak
from load.suite import OURS, PLAIN, Load, measure_load
from speed.machine import describe_machine
from speed.processes import Worker

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.data.sources.files import read_lines

_PACKAGES = ("onnxruntime", "sentencepiece", "starlette", "uvicorn")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot, or finds a fault."""
    options = parse(arguments)
    machine = describe_machine(_PACKAGES)
    with figures(__file__, options.json, machine=machine, loads=[]) as result, ExitStack() as stack:
        run(options, result, stack)
    soaked = options.soak is not None
    text = report.soak_table(result["soak"]) if soaked else write_report(options, result)
    publish(text, options.json)
    if failures := report.failures(result["loads"]) or report.soak_failures(result.get("soak")):
        sys.exit(f"serve.py: {failures}")


def run(options: argparse.Namespace, result: dict[str, Any], stack: ExitStack) -> None:
    """Measures each number of clients and adds it to the result as it comes."""
    sentences = read_sentences(options.sentences, max(options.clients))
    Manifest.read(options.artefact)  # Before processes start, whose errors are less clear.
    bare = stack.enter_context(Worker("load.bare", str(options.artefact), name="bare translator"))
    expected = bare.ask("translate", texts=sentences)
    if options.soak is not None:
        load = Load(sentences, expected, options.soak, 1)
        result["soak"] = soak(options.artefact, load, max(options.clients), options.pause, tell)
        return
    load = Load(sentences, expected, options.seconds, options.rounds)
    servers = {
        OURS: stack.enter_context(our_server(options.artefact)),
        PLAIN: stack.enter_context(plain_server(options.artefact)),
    }
    driver = stack.enter_context(Worker("load.clients", name="the clients"))
    for clients in options.clients:
        row = measure_load(load, clients, servers, driver, bare)
        result["loads"].append(row)
        tell(
            f"{clients} clients: {row[OURS]['rate']:,.0f} requests a second against "
            f"{row[PLAIN]['rate']:,.0f}"
        )


def read_sentences(paths: Sequence[Path], least: int) -> list[str]:
    """Reads the files' lines in a fixed random order, each sentence once and no empty one.

    A turn may end before all have been sent: whatever has, is then as long as the rest.

    Raises:
        ValueError: There are fewer than `least`: each client needs one of its own.
    """
    lines = itertools.chain.from_iterable(map(read_lines, paths))
    sentences = list(dict.fromkeys(filter(str.strip, lines)))
    if len(sentences) < least:
        raise ValueError(
            f"{', '.join(map(str, paths))} holds {len(sentences)} different sentences, but each of "
            f"{least} clients needs one of its own: give more sentences."
        )
    random.Random(0).shuffle(sentences)
    return sentences


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the table, with what is needed to read it."""
    return paragraphs(
        result["machine"],
        f"{options.seconds:g} seconds each, in {options.rounds} rounds that take turns. ratio: our "
        "requests a second over the plain server's.",
        report.load_table(result["loads"]),
        report.verdict(result["loads"]),
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what = "Measures serving, compared with a server that takes one request at a time."
    parser = parser_of(what, "json")
    add = parser.add_argument
    add("--artefact", type=Path, required=True, help="an ONNX artefact's directory")
    add("--sentences", type=Path, nargs="+", required=True, help="files, one sentence a line")
    add("--clients", type=items(count), default="1,16,64", help="clients at the same time")
    add("--seconds", type=float, default=60.0, help="how long each server is driven")
    add("--rounds", type=int, default=3, help="turns that the seconds are cut into")
    add("--soak", type=float, metavar="SECONDS", help="drive ours alone and load new versions")
    add("--pause", type=float, default=5.0, help="of a soak: seconds between two versions")
    options = parser.parse_args(arguments)
    if options.soak is not None and (options.soak <= 0 or options.pause < 0):
        parser.error("--soak must be above 0 and --pause at least 0")
    if options.seconds <= 0 or options.rounds < 1:
        parser.error("--seconds must be above 0 and --rounds at least 1")
    if options.json is not None and not options.json.parent.is_dir():
        parser.error(f"--json {options.json}: there is no directory {options.json.parent}")
    return options


if __name__ == "__main__":
    main()
