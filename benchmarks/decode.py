"""Measures how fast an exported model translates, compared with CTranslate2 on the same weights.

    python benchmarks/decode.py --json decode.json
    python benchmarks/decode.py --size tiny --batch 1,8 --search greedy --precision int8
    python benchmarks/decode.py --size none --real-text runs/mine test.en test.de
    python benchmarks/decode.py --size tiny11 --batch 1,64 --precision float32+list50,int8+list50

Prints a table of ratios (our tokens a second over CTranslate2's, medians) and, with `--json FILE`,
writes all figures to FILE and the tables to FILE with the ending .md. Lengths are forced to be
equal; engines run in processes of their own and take turns. Fails if float32 ids differ by more
than rounding explains. `--real-text` adds rows on a test set, text to text, with a trained run, and
fails, once all is measured, if a float32 translation differs.

A precision like int8+list50 has a shortlist with 50 candidates of each source piece, the same as
CTranslate2's map; at one sentence a time float32 ids are compared, too. CTranslate2 lets the
sentences of a batch share their candidates.
"""

import argparse
import itertools
import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from speed import report, shortlists
from speed.arguments import count, items, names
from speed.artefacts import FASTEST
from speed.cells import OURS, SPLIT, Cell, beam_size
from speed.machine import describe_machine
from speed.processes import Worker
from speed.real_text import RealText, measure_texts
from speed.sizes import SIZES
from speed.suite import measure_size

COLUMNS = {"naive": "naive", "keras": "keras_predict", "optimum": "optimum"}
PEER = "speed.engines.peer"
TARGETS = ("native", "onnxruntime")
PRECISIONS = ("float32", "int8")
_PACKAGES = ("ctranslate2", "onnxruntime", "numpy", "sentencepiece")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    result: dict[str, Any] = {"machine": describe_machine(_PACKAGES), "cells": [], "real_text": []}
    try:
        with ExitStack() as stack:
            run(options, result, stack)
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"decode.py: {error}")
    finally:
        # What was measured before a failure is not lost.
        if options.json is not None:
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    text = write_report(options, result)
    print(text)
    if options.json is not None:
        options.json.with_suffix(".md").write_text(text, encoding="utf-8")


def run(options: argparse.Namespace, result: dict[str, Any], stack: ExitStack) -> None:
    """Measures all that is requested and adds it to the result as it comes."""
    cores = len(os.sched_getaffinity(0))
    ours = Worker("speed.engines.ours", options.target, name="ours")
    workers = {OURS: stack.enter_context(ours)}
    for threads in sorted({1, cores}):
        workers[str(threads)] = stack.enter_context(
            Worker(PEER, str(threads), "1", name=f"CTranslate2 on {threads} threads")
        )
    if cores > 1:
        workers[SPLIT] = stack.enter_context(
            Worker(PEER, "1", str(cores), name=f"CTranslate2, {cores} batches at a time")
        )
    for size in options.size:
        cells = [
            Cell(SIZES[size], batch, search, precision)
            for precision, search, batch in itertools.product(
                options.precision, options.search, options.batch
            )
        ]
        with ExitStack() as inner:
            columns = {name: inner.enter_context(column(name, options)) for name in options.columns}
            asked = (options.work, options.repeats, options.target)
            for row in measure_size(cells, workers, columns, *asked):
                result["cells"].append(row)
                tell(f"{row['size']} batch {row['batch']}", row)
    if options.real_text:
        if SPLIT in workers:
            # A file is many batches: running them side by side is as good a way as any.
            workers[f"{cores} × 1"] = workers.pop(SPLIT)
        text = RealText(*map(Path, options.real_text), tuple(options.list_text))
        asked = (options.search, options.precision, options.repeats, options.target)
        for row in measure_texts(text, workers, options.work, *asked):
            result["real_text"].append(row)
            tell("real text", row)


def column(name: str, options: argparse.Namespace) -> Worker:
    """Starts the engine of a further column."""
    python = options.optimum_python if name == "optimum" else None
    return Worker(f"speed.engines.{COLUMNS[name]}", python=python, name=name)


def tell(place: str, row: dict[str, Any]) -> None:
    """Prints the benchmark's progress on the error stream."""
    print(
        f"{place} {row['search']} {row['precision']}: {row['ratio']:.2f} "
        f"({row['ours']:,.0f} against {row['peer']:,.0f})",
        file=sys.stderr,
        flush=True,
    )


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the tables, with what is needed to read them."""
    machine = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    parts = [f"Measured with {machine}; medians of {options.repeats} rounds."]
    if result["cells"]:
        parts.append(report.decode_table(result["cells"], options.columns))
        parts.append(report.verdict([cell["ratio"] for cell in result["cells"]]))
        parts.append(report.split_note(result["cells"]))
        parts.append(report.rates(result["cells"]))
    if result["real_text"]:
        parts.append(report.text_table(result["real_text"]))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description="Measures decoding, compared with CTranslate2 on the same weights.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--size", type=names(SIZES), default="tiny,base", help=f"of {', '.join(SIZES)}, or none")
    add("--batch", type=items(count), default="1,8,32,64", help="sentences at a time")
    add("--search", type=items(search), default="greedy,beam4", help="greedy, or beam and a size")
    add(
        "--precision",
        type=items(precision),
        default="float32,int8",
        help="of float32, int8, each with or without a shortlist, as in int8+list50",
    )
    add("--target", choices=TARGETS, default=FASTEST, help="what our graphs are exported for")
    add("--repeats", type=count, default=7, help="turns of each engine; their median counts")
    add("--columns", type=names(COLUMNS), default="naive,keras", help="further engines, or none")
    add("--optimum-python", type=Path, help="interpreter of an environment that has Optimum")
    add(
        "--real-text",
        nargs=3,
        metavar=("RUN", "SOURCE", "REFERENCE"),
        help="a finished run's directory and a test set's two files",
    )
    add(
        "--list-text",
        nargs=2,
        type=Path,
        default=(),
        metavar=("SOURCE", "TARGET"),
        help="parallel text that the shortlists of --real-text are learnt from",
    )
    add("--json", type=Path, metavar="FILE", help="where to write all figures")
    add("--work", type=Path, default=Path("build/benchmarks"), help="where exports are kept")
    options = parser.parse_args(arguments)
    if "optimum" in options.columns and options.optimum_python is None:
        parser.error("--columns optimum needs --optimum-python")
    if not options.size and not options.real_text:
        parser.error("--size none measures nothing: give --real-text as well")
    return options


def precision(text: str) -> str:
    """Reads the name of a precision, with or without a shortlist."""
    name, _ = shortlists.split(text)
    if name not in PRECISIONS:
        raise ValueError(f"must be of {', '.join(PRECISIONS)}, got {text!r}")
    return text


def search(text: str) -> str:
    """Reads the name of a search."""
    beam_size(text)
    return text


if __name__ == "__main__":
    main()
