"""Measures how fast models train: ours, PyTorch, keras-hub and the text-book Keras model.

    python benchmarks/train.py --data data/multi30k --json train.json
    python benchmarks/train.py --size tiny --precision float32 --peers textbook --repeats 3

Prints tokens a second, of the target and without padding, and our ratio to each peer (medians), and
with `--json FILE` writes all figures to FILE and the tables to FILE with the ending .md. All train
the same model with the same optimizer on the same batches, in processes of their own that take
turns; each runs with and without its compiler and the better counts. Fails if they do not do the
same work. PyTorch and keras-hub come with `pip install torch keras-hub`; `--peers` leaves one out.
The text-book Keras model is an encoder-decoder alone, and left out for the other sizes. Beside
engines in mixed_bfloat16, ours also takes turns in float32 with the factors of products rounded to
bfloat16, the default of `keras-transformer train`, if the processor multiplies such matrices.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from driver import figures, names, paragraphs, parser_of, publish, tell
from speed.machine import describe_machine
from training import report
from training.suite import (
    COMPILERS,
    ENGINES,
    LOADS,
    PEERS,
    PRECISIONS,
    batches_file,
    check_installed,
    measure,
    peers_of,
    step_memory,
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    parts: dict[str, Any] = {"rows": [], "groups": [], "pipelines": [], "memory": []}
    with figures(__file__, options.json, **parts) as result:
        check_installed(options.peers)
        packages = {ENGINES[name].package.replace("_", "-") for name in options.peers}
        result["machine"] = describe_machine(sorted({"keras", "tensorflow", *packages}))
        run(options, result)
    publish(write_report(options, result), options.json)


def run(options: argparse.Namespace, result: dict[str, Any]) -> None:
    """Measures all that is requested and adds it to the result as it comes."""
    for size in options.size:
        batches, streams = batches_file(size, options.work, options.data)
        fastest = 0.0
        for precision in options.precision:
            asked = (peers_of(size, options.peers), options.compiler, batches, options.repeats)
            rows, engines = measure(size, precision, *asked)
            result["rows"] += rows
            result["groups"].append({"size": size, "precision": precision, "engines": engines})
            fastest = max(fastest, *(engine["rate"] for engine in engines.values()))
            for row in rows:
                tell(
                    f"{size} {precision} {row['peer']}: {row['ratio']:.2f} "
                    f"({row['ours']:,.0f} against {row['theirs']:,.0f})"
                )
        for segmented, stream in streams.items():
            figures = {"times_training": stream["rate"] / fastest, **stream}
            result["pipelines"].append({"size": size, "segmented": segmented, **figures})
    for size in options.memory:
        result["memory"] += step_memory(size, options.precision, options.work, options.data)


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the tables, with what is needed to read them."""
    loads = "; ".join(
        f"{size}: {LOADS[size].batches} batches of at most {LOADS[size].tokens:,} padded tokens"
        for size in options.size
    )
    parts = []
    if result["rows"]:
        parts += [report.rows_table(result["rows"]), report.verdict(result["rows"])]
    parts.append(report.engines_table(result["groups"]))
    parts.append(report.pipeline_notes(result["pipelines"]))
    if result["memory"]:
        parts.append(report.memory_table(result["memory"]))
    how = f"medians of {options.repeats} rounds. {loads}."
    return paragraphs(result["machine"], how, *parts)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what = "Measures training, compared with PyTorch, keras-hub and text-book Keras."
    parser = parser_of(what, "repeats", "json", "work", repeats=5)
    add = parser.add_argument
    add("--size", type=names(LOADS), default="tiny,base", help=f"of {', '.join(LOADS)}")
    add("--precision", type=names(PRECISIONS), default=",".join(PRECISIONS), help="of these two")
    add("--peers", type=names(PEERS), default=",".join(PEERS), help="of these, or none")
    add("--compiler", type=names(COMPILERS), default="off,on", help="XLA or torch.compile")
    add("--data", type=Path, help="folder of train.{en,de}.gz; the demo corpus without")
    add("--memory", type=names(LOADS), default="base", help="sizes of the memory figure, or none")
    options = parser.parse_args(arguments)
    if not (options.precision and options.compiler):
        parser.error("--precision and --compiler need at least one name each")
    return options


if __name__ == "__main__":
    main()
