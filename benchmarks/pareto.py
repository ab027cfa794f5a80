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
import dataclasses
import json
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from front import report
from front.points import Point, gains
from front.suite import Measurement, engines, names_of
from speed import shortlists
from speed.arguments import count, items
from speed.artefacts import FASTEST
from speed.machine import describe_machine

PRECISIONS = ("float32", "bfloat16", "int8")
TARGETS = ("native", "onnxruntime")
_PACKAGES = ("ctranslate2", "onnxruntime", "numpy", "sentencepiece")


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    points: list[Point] = []
    try:
        measure(options, points)
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"pareto.py: {error}")
    finally:
        # What was measured before a failure is not lost.
        write_figures(options, points)
    print(write_report(options, points))


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
                tell(point)


def tell(point: Point) -> None:
    """Prints the benchmark's progress on the error stream."""
    print(
        f"{point.model} {point.engine} {point.precision} beam {point.beam_size} batch "
        f"{point.batch}: {point.bleu:.2f} BLEU, {point.rate:,.0f} sentences a second",
        file=sys.stderr,
        flush=True,
    )


def write_figures(options: argparse.Namespace, points: Sequence[Point]) -> None:
    """Writes all figures, if that is asked for."""
    if options.json is None:
        return
    result: dict[str, Any] = {
        "machine": describe_machine(_PACKAGES),
        "points": [dataclasses.asdict(point) for point in points],
    }
    options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def write_report(options: argparse.Namespace, points: Sequence[Point]) -> str:
    """Returns the tables, with what is needed to read them; draws the picture."""
    machine = ", ".join(f"{name} {value}" for name, value in describe_machine(_PACKAGES).items())
    parts = [
        f"Measured with {machine}; one thread, medians of {options.repeats} turns.",
        report.points_table(points),
        report.verdict(points),
    ]
    if options.teacher is not None:
        beam_size = max(options.beam_size)
        precision = options.precision[0]
        parts.append(f"Students against {options.teacher} in {precision}, beam {beam_size}:")
        found = gains(points, options.teacher, precision, beam_size)
        parts.append(report.gains_table(found))
    text = "\n\n".join(part.rstrip() for part in parts) + "\n"
    if options.json is not None:
        options.json.with_suffix(".md").write_text(text, encoding="utf-8")
    if options.picture is not None:
        report.draw(points, options.picture)
    return text


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description="Measures BLEU and speed of trained models, and which of them nothing beats.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
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
    add("--target", choices=TARGETS, default=FASTEST, help="what our graphs are exported for")
    add("--no-peer", dest="peer", action="store_false", help="measure ours alone")
    add("--timed", type=count, default=200, help="sentences that the speed is measured on")
    add("--repeats", type=count, default=5, help="turns of each engine; their median counts")
    add("--json", type=Path, metavar="FILE", help="where to write all figures")
    add("--picture", type=Path, metavar="FILE", help="where to draw them (.svg or .png)")
    add("--work", type=Path, default=Path("build/benchmarks"), help="where exports are kept")
    options = parser.parse_args(arguments)
    if any(shortlists.split(one)[1] for one in options.precision) and not options.list_text:
        parser.error("a shortlist needs --list-text to learn from")
    return options


if __name__ == "__main__":
    main()
