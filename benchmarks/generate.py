"""Measures how fast an exported decoder continues prompts, compared with CTranslate2 on the same
weights.

    python benchmarks/generate.py --json generate.json
    python benchmarks/generate.py --size gpt2-tiny --prompt 32 --batch 1,8 --search greedy

Prints a table of ratios (our new tokens a second over CTranslate2's, medians; the time of reading
the prompt counts) and, with `--json FILE`, writes all figures to FILE and the table to FILE with
the ending .md. Lengths are forced to be equal; engines run in processes of their own and take
turns. Fails if greedy float32 ids differ by more than rounding explains.
"""

import argparse
import itertools
import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from driver import count, figures, items, names, paragraphs, parser_of, publish, tell
from generation import report
from generation.engine import GREEDY, SAMPLED, SEARCHES
from generation.sizes import SIZES
from generation.suite import Cell, measure_size
from speed.cells import OURS, SPLIT
from speed.machine import describe_machine
from speed.processes import Worker
from speed.report import split_note, verdict

PEER = "generation.engines.ctranslate2_generator"
PRECISIONS = ("float32", "int8")
_PACKAGES = ("ctranslate2", "onnxruntime", "numpy")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    machine = describe_machine(_PACKAGES)
    with figures(__file__, options.json, machine=machine, cells=[]) as result, ExitStack() as stack:
        run(options, result, stack)
    publish(write_report(options, result), options.json)


def run(options: argparse.Namespace, result: dict[str, Any], stack: ExitStack) -> None:
    """Measures all that is requested and adds it to the result as it comes."""
    cells = {name: cells_of(name, options) for name in options.size}
    workers = start(options, stack)
    for name in options.size:
        asked = (options.work, options.repeats, options.target)
        for row in measure_size(cells[name], workers, *asked):
            result["cells"].append(row)
            tell(
                f"{row['size']} {row['precision']} {row['search']} prompt {row['prompt']} batch "
                f"{row['batch']}: {row['ratio']:.2f} ({row['ours']:,.1f} against "
                f"{row['peer']:,.1f})"
            )


def cells_of(size: str, options: argparse.Namespace) -> list[Cell]:
    """Returns a size's cells."""
    asked = (options.precision, options.search, options.prompt, options.batch)
    return [
        Cell(
            size=SIZES[size],
            precision=precision,
            search=search,
            prompt=prompt,
            batch=batch,
            length=options.new_tokens,
        )
        for precision, search, prompt, batch in itertools.product(*asked)
    ]


def start(options: argparse.Namespace, stack: ExitStack) -> dict[str, Worker]:
    """Starts our engine, and CTranslate2 with one thread, one for each core, and batches split."""
    cores = len(os.sched_getaffinity(0))
    workers = {OURS: Worker("generation.engines.ours", options.target, name=OURS)}
    for threads in sorted({1, cores}):
        name = f"CTranslate2 on {threads} threads"
        workers[str(threads)] = Worker(PEER, str(threads), "1", name=name)
    if cores > 1:
        name = f"CTranslate2, {cores} parts of a batch at a time"
        workers[SPLIT] = Worker(PEER, "1", str(cores), name=name)
    return {name: stack.enter_context(worker) for name, worker in workers.items()}


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the table, with what is needed to read it."""
    cells = result["cells"]
    return paragraphs(
        result["machine"],
        f"{options.new_tokens} new tokens a prompt, medians of {options.repeats} rounds.",
        report.generate_table(cells),
        verdict([cell["ratio"] for cell in cells], report.MUST, report.AIM),
        split_note(cells),
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    searches = ", ".join(SEARCHES)
    what = "Measures generation, compared with CTranslate2 on the same weights."
    parser = parser_of(what, "target", "repeats", "json", "work", repeats=5)
    add = parser.add_argument
    add("--size", type=names(SIZES), default="gpt2", help=f"of {', '.join(SIZES)}")
    add("--prompt", type=items(count), default="32,512", help="tokens of each prompt")
    add("--new-tokens", type=count, default=64, help="tokens generated after each prompt")
    add("--batch", type=items(count), default="1,8,32", help="prompts at a time")
    add("--search", type=names(SEARCHES), default=f"{GREEDY},{SAMPLED}", help=f"of {searches}")
    add("--precision", type=names(PRECISIONS), default="float32,int8", help="of float32, int8")
    options = parser.parse_args(arguments)
    if not (options.size and options.search and options.precision):
        parser.error("--size, --search and --precision need at least one name each")
    return options


if __name__ == "__main__":
    main()
