"""Measures how fast an exported encoder gives states, compared with other engines on its weights.

    python benchmarks/encode.py --json encode.json --sentences data/multi30k/val.en.gz
    python benchmarks/encode.py --size bert-tiny --batch 1 --length 16,128 --precision int8
    python benchmarks/encode.py --pytorch-python ../torch/bin/python

The peers are CTranslate2's encoder and onnxruntime on what `onnxruntime.transformers` makes of the
plain graph (it needs `pip install sympy`); PyTorch joins them from an environment of its own that
has torch and numpy. Prints a table of ratios (our tokens a second over the best peer's, medians)
and, with `--json FILE`, writes all figures to FILE and the tables to FILE with the ending .md.
Engines run in processes of their own and take turns. Fails if float32 states differ by more than
rounding explains. `--sentences` adds cells with the lengths of real sentences.
"""

import argparse
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from driver import count, figures, items, names, paragraphs, parser_of, publish, tell
from encoding import report
from encoding.real_lengths import real_rows
from encoding.sizes import SIZES
from encoding.suite import even_loads, measure_size, real_loads
from speed.cells import OURS
from speed.machine import describe_machine
from speed.processes import Worker
from speed.report import verdict

PEERS = {
    "CTranslate2": "encoding.engines.ctranslate2_encoder",
    "onnxruntime": "encoding.engines.onnxruntime_optimizer",
}
PYTORCH = "PyTorch"
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
    workers = start(options, stack)
    for name in options.size:
        size = SIZES[name]
        loads = even_loads(size, options.batch, options.length)
        if options.sentences is not None:
            rows = real_rows(size, options.sentences, options.most_sentences)
            loads += real_loads(rows, options.batch)
        asked = (options.work, options.repeats, options.target)
        for row in measure_size(size, options.precision, loads, workers, *asked):
            result["cells"].append(row)
            tell(
                f"{row['size']} {row['precision']} length {row['length']} batch {row['batch']}: "
                f"{row['ratio']:.2f} ({row['ours']:,.0f} against {row['peer']:,.0f} of "
                f"{row['peer_name']})"
            )


def start(options: argparse.Namespace, stack: ExitStack) -> dict[str, Worker]:
    """Starts our engine and every peer with one thread and with one for each core."""
    workers = {OURS: Worker("encoding.engines.ours", options.target, name=OURS)}
    for threads in sorted({1, len(os.sched_getaffinity(0))}):
        for library in libraries(options):
            name = f"{library} × {threads}"
            if library == PYTORCH:
                module, python = "encoding.engines.pytorch_layers", str(options.pytorch_python)
            else:
                module, python = PEERS[library], None
            workers[name] = Worker(module, str(threads), python=python, name=name)
    return {name: stack.enter_context(worker) for name, worker in workers.items()}


def libraries(options: argparse.Namespace) -> list[str]:
    """Returns the peers' libraries."""
    return [*options.peers, *([] if options.pytorch_python is None else [PYTORCH])]


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the tables, with what is needed to read them."""
    cells = result["cells"]
    return paragraphs(
        result["machine"],
        f"medians of {options.repeats} rounds.",
        report.encode_table(cells, libraries(options)),
        verdict([cell["ratio"] for cell in cells], report.MUST, report.AIM),
        report.notes(cells),
    )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what = "Measures encoders, compared with other engines on the same weights."
    parser = parser_of(what, "target", "repeats", "json", "work")
    add = parser.add_argument
    add("--size", type=names(SIZES), default="bert-base", help=f"of {', '.join(SIZES)}")
    add("--batch", type=items(count), default="1,8,32", help="rows at a time")
    add("--length", type=items(count), default="16,128,512", help="tokens of each row")
    add("--precision", type=names(PRECISIONS), default="float32,int8", help="of float32, int8")
    add("--peers", type=names(PEERS), default=",".join(PEERS), help="of these")
    add("--pytorch-python", type=Path, help="interpreter of an environment with torch and numpy")
    add("--sentences", type=Path, metavar="FILE", help="sentences of real lengths, one a line")
    add("--most-sentences", type=count, default=256, help="how many of the file are encoded")
    options = parser.parse_args(arguments)
    if not (options.size and options.precision):
        parser.error("--size and --precision need at least one name each")
    if not libraries(options):
        parser.error("nothing to compare with: name --peers, or give --pytorch-python")
    return options


if __name__ == "__main__":
    main()
