"""Measures what trained models translate how well and how fast, and which of them nothing beats.

    python benchmarks/pareto.py runs/tiny runs/student --source test.en --reference test.de
    python benchmarks/pareto.py … --teacher tiny --json pareto.json --picture pareto.svg

Every run is exported in float32 and int8 and translates the test set with one thread, sentence by
sentence and in batches, greedily and by beam search, beside CTranslate2 with the same weights,
where it has such a model and computes in that precision on processors. Prints a table of BLEU and
sentences a second, with the front in bold: the points that no other beats in both. A precision like
int8+list50 has a shortlist with 50 candidates of each source piece, learnt from `--list-text`, for
both engines. With `--json FILE` all figures go to FILE and the tables to FILE with the ending .md.
"""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from driver import (
    PRECISIONS,
    count,
    figures,
    items,
    paragraphs,
    parser_of,
    publish,
    tell,
)
from front import report
from front.points import Point, gains
from front.suite import Measurement, engines, names_of
from speed import shortlists
from speed.machine import describe_machine

_PACKAGES = ("ctranslate2", "onnxruntime", "numpy", "sentencepiece")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    machine = describe_machine(_PACKAGES)
    with figures(__file__, options.json, machine=machine, points=[]) as result:
        measure(options, result["points"])
    publish(write_report(options, **result), options.json)
    if options.picture is not None:
        report.draw(result["points"], options.picture)


def measure(options: argparse.Namespace, points: list[Point]) -> None:
    """Adds the points of all runs as they are measured."""
    known = names_of(options.run)
    if options.teacher is not None and options.teacher not in known:
        raise ValueError(f"--teacher must be one of {', '.join(known)}, got {options.teacher!r}.")
    measurement = Measurement.of_files(
        options.source,
        options.reference,
        precisions=options.precision,
        beam_sizes=options.beam_size,
        batches=options.batch,
        timed=options.timed,
        rounds=options.repeats,
        target=options.target,
        list_texts=options.list_text,
    )
    with ExitStack() as stack:
        workers = {
            name: stack.enter_context(worker)
            for name, worker in engines(options.target, options.peer).items()
        }
        for run in options.run:
            for point in measurement.points(run, workers, options.work):
                points.append(point)
                tell(
                    f"{point.model} {point.engine} {point.precision} beam {point.beam_size} batch "
                    f"{point.batch}: {point.bleu:.2f} BLEU, {point.rate:,.0f} sentences a second"
                )


def write_report(
    options: argparse.Namespace, machine: Mapping[str, Any], points: Sequence[Point]
) -> str:
    """Returns the tables, with what is needed to read them."""
    parts = [report.points_table(points), report.verdict(points)]
    if options.teacher is not None:
        beam_size = max(options.beam_size)
        precision = options.precision[0]
        parts.append(f"Students against {options.teacher} in {precision}, beam {beam_size}:")
        found = gains(points, options.teacher, precision, beam_size)
        parts.append(report.gains_table(found))
    return paragraphs(machine, f"one thread, medians of {options.repeats} turns.", *parts)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what = "Measures BLEU and speed of trained models, and which of them nothing beats."
    parser = parser_of(what, "target", "repeats", "json", "work", repeats=5)
    add = parser.add_argument
    add("run", nargs="+", type=Path, help="directories of finished runs")
    add("--source", type=Path, required=True, help="the test set's source text, plain or .gz")
    add("--reference", type=Path, required=True, help="its translations")
    add("--teacher", help="name of the run that the others are compared with")
    add(
        "--precision",
        type=items(shortlists.precision_of(PRECISIONS)),
        default="float32,int8",
        help="of float32, bfloat16 (ours alone) and int8, each with or without a shortlist, as in "
        "int8+list50",
    )
    add(
        "--list-text",
        nargs=2,
        type=Path,
        default=(),
        metavar=("SOURCE", "TARGET"),
        help="parallel text that shortlists are learnt from",
    )
    add("--beam-size", type=items(count), default="1,4", help="hypotheses kept; 1 is greedy")
    add("--batch", type=items(count), default="1,64", help="sentences at a time")
    add("--no-peer", dest="peer", action="store_false", help="measure ours alone")
    add("--timed", type=count, default=200, help="sentences that the speed is measured on")
    add("--picture", type=Path, metavar="FILE", help="where to draw them (.svg or .png)")
    options = parser.parse_args(arguments)
    if any(shortlists.split(one)[1] for one in options.precision) and not options.list_text:
        parser.error("a shortlist needs --list-text to learn from")
    return options


if __name__ == "__main__":
    main()
