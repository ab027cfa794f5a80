"""Measures how fast an exported encoder gives states, compared with other engines on its weights.

    python benchmarks/encode.py --json encode.json --sentences data/multi30k/val.en.gz
    python benchmarks/encode.py --size bert-tiny --batch 1 --length 16,128 --precision int8
    python benchmarks/encode.py --size minilm,modernbert --peers openvino,sentence-transformers
    python benchmarks/encode.py --run runs/minilm --sentences captions.en --peers openvino
    python benchmarks/encode.py --pytorch-python ../torch/bin/python

The peers are CTranslate2's encoder and onnxruntime on what `onnxruntime.transformers` makes of the
plain graph (it needs `pip install sympy`), both for BERT's form alone, and OpenVINO and
sentence-transformers, which pip installs, each in an environment of its own below `--environments`;
PyTorch joins them from an environment that has torch and numpy. Prints a table of ratios (our
tokens a second over the best peer's, medians) and, with `--json FILE`, writes all figures to FILE
and the tables to FILE with the ending .md. Engines run in processes of their own and take turns.
Fails if float32 states differ by more than rounding explains. `--sentences` adds cells with the
lengths of real sentences; with `--run`, a trained encoder's directory, they are these sentences.
"""

import argparse
import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from driver import (
    PRECISIONS,
    count,
    figures,
    items,
    names,
    paragraphs,
    parser_of,
    publish,
    tell,
)
from encoding import report
from encoding.artefacts import Maker
from encoding.peers import CTRANSLATE2, ONNXRUNTIME, PEERS, PYTORCH
from encoding.real_lengths import real_rows
from encoding.sizes import SIZES, EncoderSize
from encoding.suite import Load, even_loads, measure_size, real_loads
from peers.environments import versions
from peers.names import peer_name
from speed.cells import OURS
from speed.machine import describe_machine
from speed.processes import Worker
from speed.report import verdict

_PACKAGES = ("ctranslate2", "onnxruntime", "numpy")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    machine = describe_machine(_PACKAGES)
    with figures(__file__, options.json, machine=machine, cells=[]) as result:
        for peer in options.peers:
            if python := PEERS[peer].python(options.environments):
                result["machine"].update(versions(python, PEERS[peer].packages))
        run(options, result)
    publish(write_report(options, result), options.json)


def run(options: argparse.Namespace, result: dict[str, Any]) -> None:
    """Measures all that is requested and adds it to the result as it comes."""
    maker = Maker(
        work=options.work,
        environments=options.environments,
        libraries=libraries(options),
        target=options.target,
    )
    precisions = sorted({"float32", *options.precision})
    for size in sizes(options):
        loads = loads_of(size, options)
        folder = maker.make(size, precisions)
        with ExitStack() as stack:
            asked = (loads, start(options, stack), folder, options.repeats)
            for row in measure_size(size, options.precision, *asked):
                result["cells"].append(row)
                tell(
                    f"{row['size']} {row['precision']} length {row['length']} batch "
                    f"{row['batch']}: {row['ratio']:.2f} ({row['ours']:,.0f} against "
                    f"{row['peer']:,.0f} of {row['peer_name']})"
                )


def sizes(options: argparse.Namespace) -> list[EncoderSize]:
    """Returns the models: the trained run if there is one, else the sizes."""
    if options.run is not None:
        return [EncoderSize(name=options.run.name, preset="bert-base", run=options.run)]
    return [SIZES[name] for name in options.size]


def loads_of(size: EncoderSize, options: argparse.Namespace) -> list[Load]:
    """Returns what is encoded with a model."""
    loads = [] if options.run else even_loads(size, options.batch, options.length)
    if options.sentences is not None:
        rows = real_rows(size, options.sentences, options.most_sentences)
        loads += real_loads(rows, options.batch)
    return loads


def start(options: argparse.Namespace, stack: ExitStack) -> dict[str, Worker]:
    """Starts our engine and every peer."""
    ours = ("encoding.engines.ours", options.target, str(options.threads))
    workers = {OURS: Worker(*ours, name=OURS)}
    for library in options.peers:
        peer = PEERS[library]
        for threads in peer.threads(options.threads):
            name, python = peer_name(library, threads), peer.python(options.environments)
            workers[name] = Worker(peer.engine, str(threads), python=python, name=name)
    if options.pytorch_python is not None:
        module, python = "encoding.engines.pytorch_layers", str(options.pytorch_python)
        for threads in sorted({1, options.threads}):
            name = peer_name(PYTORCH, threads)
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
    precisions = f"of {', '.join(PRECISIONS)}"
    add("--precision", type=names(PRECISIONS), default="float32,int8", help=precisions)
    usual = f"{CTRANSLATE2},{ONNXRUNTIME}"
    add("--peers", type=names(PEERS), default=usual, help=f"of {', '.join(PEERS)}")
    cores = len(os.sched_getaffinity(0))
    add("--threads", type=count, default=cores, help="threads of each engine")
    where = "where environments of peers are made"
    add("--environments", type=Path, default="build/environments", help=where)
    add("--run", type=Path, help="a trained encoder in place of --size, with --sentences")
    add("--pytorch-python", type=Path, help="interpreter of an environment with torch and numpy")
    add("--sentences", type=Path, metavar="FILE", help="sentences of real lengths, one a line")
    add("--most-sentences", type=count, default=256, help="how many of the file are encoded")
    options = parser.parse_args(arguments)
    if not (options.size and options.precision):
        parser.error("--size and --precision need at least one name each")
    if options.run is not None and options.sentences is None:
        parser.error("--run needs --sentences: texts of its own vocabulary")
    if not libraries(options):
        parser.error("nothing to compare with: name --peers, or give --pytorch-python")
    return options


if __name__ == "__main__":
    main()
