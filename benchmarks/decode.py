"""Measures how fast an exported model translates, compared with CTranslate2 on the same weights.

    python benchmarks/decode.py --json decode.json
    python benchmarks/decode.py --size tiny --batch 1,8 --search greedy --precision int8
    python benchmarks/decode.py --size tiny11 --length 8,24,100 --threads 1,2 --columns none
    python benchmarks/decode.py --size tiny11 --length none --text captions.en,news.en --threads 1
    python benchmarks/decode.py --size none --real-text runs/mine test.en test.de
    python benchmarks/decode.py --size tiny11 --batch 1,64 --precision float32+list50,int8+list50

Prints a table of ratios (our tokens a second over CTranslate2's, medians) and, with `--json FILE`,
writes all figures to FILE and the tables to FILE with the ending .md. Lengths are forced to be
equal, but for `--text`: sentences as long as a file's, in random ids, whose translations end where
the model ends them (`speed/ending_run.py`), counted in tokens of the source. Engines run in
processes of their own and take turns. Fails if float32 ids differ by more than rounding explains.
`--real-text` adds rows on a test set, text to text, with a trained run, and fails, once all is
measured, if a float32 translation differs.

A precision like int8+list50 has a shortlist with 50 candidates of each source piece, the same as
CTranslate2's map; at one sentence a time float32 ids are compared, too. CTranslate2 lets the
sentences of a batch share their candidates.
"""

import argparse
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from driver import count, figures, items, names, paragraphs, parser_of, publish, tell
from speed import report, shortlists
from speed.cells import OURS, SPLIT, Cell, beam_size
from speed.machine import describe_machine
from speed.processes import Worker
from speed.real_text import RealText, measure_texts
from speed.sizes import SIZES, Size
from speed.suite import measure_size
from speed.text_lengths import text_lengths

COLUMNS = {"naive": "naive", "keras": "keras_predict", "optimum": "optimum"}
PEER = "speed.engines.peer"
PRECISIONS = ("float32", "int8")
OWN = "own"
_PACKAGES = ("ctranslate2", "onnxruntime", "numpy", "sentencepiece")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    machine = describe_machine(_PACKAGES)
    with figures(__file__, options.json, machine=machine, cells=[], real_text=[]) as result:
        run(options, result)
    publish(write_report(options, result), options.json)


def run(options: argparse.Namespace, result: dict[str, Any]) -> None:
    """Measures all that is requested and adds it to the result as it comes."""
    for threads in options.threads:
        with ExitStack() as inner:
            workers = start_engines(options.target, threads, inner)
            for size in options.size:
                measure_lengths(size, threads, workers, options, result)
            if options.real_text:
                text = RealText(*map(Path, options.real_text), tuple(options.list_text))
                asked = (options.search, options.precision, options.repeats, options.target)
                peers = beside(workers, threads)
                for row in measure_texts(text, peers, options.work, *asked):
                    result["real_text"].append({"threads": threads, **row})
                    tell_row("real text", row)


def start_engines(target: str, threads: int, stack: ExitStack) -> dict[str, Worker]:
    """Starts ours and CTranslate2 on one thread and on several, and on batches side by side."""

    def peer(of_batch: int, batches: int, name: str) -> Worker:
        arguments = (PEER, str(of_batch), str(batches))
        return stack.enter_context(Worker(*arguments, name=f"CTranslate2 {name}"))

    ours = Worker("speed.engines.ours", target, str(threads), name="ours")
    workers = {OURS: stack.enter_context(ours)}
    for count_of_one in sorted({1, threads}):
        workers[str(count_of_one)] = peer(count_of_one, 1, f"on {count_of_one} threads")
    if threads > 1:
        workers[SPLIT] = peer(1, threads, f"of {threads} batches at a time")
    return workers


def beside(workers: dict[str, Worker], threads: int) -> dict[str, Worker]:
    """Makes a peer of what runs batches side by side: of many batches that is as good a way."""
    return {f"{threads} × 1" if name == SPLIT else name: one for name, one in workers.items()}


def measure_lengths(
    name: str,
    threads: int,
    workers: dict[str, Worker],
    options: argparse.Namespace,
    result: dict[str, Any],
) -> None:
    """Measures a size on sentences of every length, and on every text."""
    for size in lengths_of(SIZES[name], options):
        batches = options.batch if size.text is None else [len(size.text_lengths)]
        peers = workers if size.text is None else beside(workers, threads)
        combined = itertools.product(options.precision, options.search, batches)
        cells = [Cell(size, batch, search, precision) for precision, search, batch in combined]
        wanted = options.columns if size.text is None else []
        with ExitStack() as inner:
            columns = {one: inner.enter_context(column(one, options)) for one in wanted}
            asked = (options.work, options.repeats, options.target)
            for row in measure_size(cells, peers, columns, *asked):
                result["cells"].append({"threads": threads, **row})
                tell_row(f"{row['size']} {row['length']} batch {row['batch']}", row)


def lengths_of(size: Size, options: argparse.Namespace) -> Iterator[Size]:
    """Yields a size with each length and each text that is asked for."""
    for length in options.length:
        yield size if length == OWN else size.of_length(int(length))
    for path in options.text:
        lengths = text_lengths(path, size.vocab_size, options.sentences)
        yield size.of_text(path.name.partition(".")[0], lengths)


def column(name: str, options: argparse.Namespace) -> Worker:
    """Starts the engine of a further column."""
    python = options.optimum_python if name == "optimum" else None
    return Worker(f"speed.engines.{COLUMNS[name]}", python=python, name=name)


def tell_row(place: str, row: dict[str, Any]) -> None:
    """Prints the benchmark's progress."""
    tell(
        f"{place} {row['search']} {row['precision']}: {row['ratio']:.2f} "
        f"({row['ours']:,.0f} against {row['peer']:,.0f})"
    )


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the tables, with what is needed to read them."""
    parts = []
    if result["cells"]:
        parts.append(report.decode_table(result["cells"], options.columns))
        parts.append(report.verdict([cell["ratio"] for cell in result["cells"]]))
        parts.append(report.split_note(result["cells"]))
        parts.append(report.rates(result["cells"]))
    if result["real_text"]:
        parts.append(report.text_table(result["real_text"]))
    return paragraphs(result["machine"], f"medians of {options.repeats} rounds.", *parts)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what = "Measures decoding, compared with CTranslate2 on the same weights."
    parser = parser_of(what, "target", "repeats", "json", "work")
    add, cores = parser.add_argument, len(os.sched_getaffinity(0))
    add("--size", type=names(SIZES), default="tiny,base", help=f"of {', '.join(SIZES)}, or none")
    add("--length", type=lengths, default=OWN, help="tokens of sentences; own: the size's; or none")
    add("--text", type=items(Path), default=[], help="files whose sentences' lengths are measured")
    add("--sentences", type=count, default=400, help="how many of a text's sentences")
    add("--threads", type=items(count), default=str(cores), help="threads, ours and CTranslate2's")
    add("--batch", type=items(count), default="1,8,32,64", help="sentences at a time")
    add("--search", type=items(search), default="greedy,beam4", help="greedy, or beam and a size")
    add(
        "--precision",
        type=items(shortlists.precision_of(PRECISIONS)),
        default="float32,int8",
        help="of float32, int8, each with or without a shortlist, as in int8+list50",
    )
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
    options = parser.parse_args(arguments)
    if "optimum" in options.columns and options.optimum_python is None:
        parser.error("--columns optimum needs --optimum-python")
    if not options.size and not options.real_text:
        parser.error("--size none measures nothing: give --real-text as well")
    if not options.length and not options.text and not options.real_text:
        parser.error("--length none measures nothing: give --text as well")
    return options


def lengths(text: str) -> list[str]:
    """Reads numbers of tokens, or the name of the size's own, separated by commas, or "none"."""
    return [] if text == "none" else items(lambda one: one if one == OWN else str(count(one)))(text)


def search(text: str) -> str:
    """Reads the name of a search."""
    beam_size(text)
    return text


if __name__ == "__main__":
    main()
