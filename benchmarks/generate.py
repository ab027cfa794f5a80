r"""Measures how fast an exported decoder continues prompts, compared with other engines on the same
weights.

    python benchmarks/generate.py --json generate.json
    python benchmarks/generate.py --size gpt2-tiny --prompt 32 --batch 1,8 --search greedy
    python benchmarks/generate.py --peers openvino,ort-genai,llama.cpp --search greedy \
        --precision float32,bfloat16,int8,int4 --environments ~/.cache/peers

Prints a table of ratios (our new tokens a second over the best peer's, medians; the time of reading
the prompt counts) and, with `--json FILE`, writes all figures to FILE and the tables to FILE with
the ending .md. Lengths are forced to be equal; engines run in processes of their own and take
turns. Fails if greedy float32 ids differ by more than rounding explains.

Peers but CTranslate2 are installed by pip, each in an environment of its own below
`--environments`, and convert the weights themselves. With `--run`, a trained decoder's directory,
and `--text` the report tells how well each engine predicts the lines of a file, with `--size none`
that alone.
"""

import argparse
import itertools
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from driver import count, figures, items, names, paragraphs, parser_of, publish, tell
from generation import report
from generation.artefacts import Maker
from generation.engine import GREEDY, SAMPLED, SEARCHES
from generation.peers import PEERS, PRECISIONS
from generation.quality import measure_quality, read_rows
from generation.sizes import SIZES
from generation.suite import Cell, measure_size
from peers.environments import versions
from peers.names import CTRANSLATE2, peer_name
from speed.cells import OURS, SPLIT
from speed.machine import describe_machine
from speed.processes import Worker
from speed.report import split_note, verdict

_PACKAGES = ("ctranslate2", "onnxruntime", "numpy")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    parts: dict[str, Any] = {"machine": describe_machine(_PACKAGES), "cells": [], "quality": []}
    with figures(__file__, options.json, **parts) as result:
        for peer in options.peers:
            if python := PEERS[peer].python(options.environments):
                result["machine"].update(versions(python, PEERS[peer].packages))
        run(options, result)
    publish(write_report(options, result), options.json)


def run(options: argparse.Namespace, result: dict[str, Any]) -> None:
    """Measures all that is requested and adds it to the result as it comes."""
    peers = [PEERS[name] for name in options.peers]
    maker = Maker(
        work=options.work, environments=options.environments, peers=peers, target=options.target
    )
    precisions = sorted({"float32", *options.precision})
    for threads, name in itertools.product(options.threads, options.size):
        cells = cells_of(name, threads, options)
        folder = maker.make(name, precisions)
        with ExitStack() as stack:
            workers = start(options, threads, stack)
            for row in measure_size(cells, workers, folder, options.repeats):
                result["cells"].append(row)
                tell(
                    f"{row['size']} {row['precision']} {row['search']} prompt {row['prompt']} "
                    f"batch {row['batch']}, threads {threads}: {row['ratio']:.2f} "
                    f"({row['ours']:,.1f} against {row['peer']:,.1f} of {row['peer_name']})"
                )
    if options.run is not None:
        folder = maker.make(options.run.name, options.precision, options.run)
        rows = read_rows(options.run, options.text, options.most_lines)
        with ExitStack() as stack:
            workers = start(options, options.threads[0], stack)
            asked = (rows, options.precision, workers, folder)
            result["quality"] += measure_quality(*asked)


def cells_of(size: str, threads: int, options: argparse.Namespace) -> list[Cell]:
    """Returns a size's cells with some threads."""
    asked = (options.precision, options.search, options.prompt, options.batch)
    return [
        Cell(
            size=SIZES[size],
            precision=precision,
            threads=threads,
            search=search,
            prompt=prompt,
            batch=batch,
            length=options.new_tokens,
        )
        for precision, search, prompt, batch in itertools.product(*asked)
    ]


def start(options: argparse.Namespace, threads: int, stack: ExitStack) -> dict[str, Worker]:
    """Starts our engine, the peers, and CTranslate2 as it splits batches among threads."""
    ours = ("generation.engines.ours", options.target, str(threads))
    workers = {OURS: Worker(*ours, name=OURS)}
    for peer in map(PEERS.__getitem__, options.peers):
        python = peer.python(options.environments)
        for number in peer.threads(threads):
            name = peer_name(peer.name, number)
            workers[name] = Worker(peer.engine, str(number), python=python, name=name)
    if threads > 1 and CTRANSLATE2 in options.peers:
        name = f"{CTRANSLATE2}, {threads} parts of a batch at a time"
        workers[SPLIT] = Worker(PEERS[CTRANSLATE2].engine, "1", str(threads), name=name)
    return {name: stack.enter_context(worker) for name, worker in workers.items()}


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the tables, with what is needed to read them."""
    cells, quality = result["cells"], result["quality"]
    return paragraphs(
        result["machine"],
        f"{options.new_tokens} new tokens a prompt, medians of {options.repeats} rounds.",
        report.generate_table(cells, options.peers) if cells else "",
        verdict([cell["ratio"] for cell in cells], report.MUST, report.AIM) if cells else "",
        split_note(cells) if CTRANSLATE2 in options.peers else "",
        report.quality_table(quality, options.peers) if quality else "",
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what = "Measures generation, compared with other engines on the same weights."
    parser = parser_of(what, "target", "repeats", "json", "work", repeats=5)
    add = parser.add_argument
    add("--size", type=names(SIZES), default="gpt2", help=f"of {', '.join(SIZES)}")
    add("--peers", type=names(PEERS), default=CTRANSLATE2, help=f"of {', '.join(PEERS)}")
    cores = str(len(os.sched_getaffinity(0)))
    add("--threads", type=items(count), default=cores, help="threads of each engine")
    add("--prompt", type=items(count), default="32,512", help="tokens of each prompt")
    add("--new-tokens", type=count, default=64, help="tokens generated after each prompt")
    add("--batch", type=items(count), default="1,8,32", help="prompts at a time")
    searches = f"of {', '.join(SEARCHES)}"
    add("--search", type=names(SEARCHES), default=f"{GREEDY},{SAMPLED}", help=searches)
    precisions = f"of {', '.join(PRECISIONS)}"
    add("--precision", type=names(PRECISIONS), default="float32,int8", help=precisions)
    where = "where environments of peers are made"
    add("--environments", type=Path, default="build/environments", help=where)
    add("--run", type=Path, help="a trained decoder, whose quality is told with --text")
    add("--text", type=Path, metavar="FILE", help="texts that it predicts, one a line")
    add("--most-lines", type=count, default=256, help="how many of the file")
    options = parser.parse_args(arguments)
    check(parser, options)
    return options


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends with a message if options do not fit together."""
    if not ((options.size or options.run) and options.search and options.precision):
        parser.error("--size, --search and --precision need at least one name each")
    if not options.peers:
        parser.error("nothing to compare with: name --peers")
    if options.search != [GREEDY] and options.peers != [CTRANSLATE2]:
        parser.error(f"only {CTRANSLATE2} has other searches: give --search {GREEDY}")
    if (options.run is None) != (options.text is None):
        parser.error("--run and --text need each other")


if __name__ == "__main__":
    main()
