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
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speed.arguments import count, names
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
    result: dict[str, Any] = {"rows": [], "groups": [], "pipelines": [], "memory": []}
    try:
        check_installed(options.peers)
        packages = {ENGINES[name].package.replace("_", "-") for name in options.peers}
        result["machine"] = describe_machine(sorted({"keras", "tensorflow", *packages}))
        run(options, result)
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"train.py: {error}")
    finally:
        # What was measured before a failure is not lost.
        if options.json is not None:
            options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    text = write_report(options, result)
    print(text)
    if options.json is not None:
        options.json.with_suffix(".md").write_text(text, encoding="utf-8")


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
                tell(row)
        for segmented, stream in streams.items():
            figures = {"times_training": stream["rate"] / fastest, **stream}
            result["pipelines"].append({"size": size, "segmented": segmented, **figures})
    for size in options.memory:
        result["memory"] += step_memory(size, options.precision, options.work, options.data)


def tell(row: dict[str, Any]) -> None:
    """Prints the benchmark's progress on the error stream."""
    print(
        f"{row['size']} {row['precision']} {row['peer']}: {row['ratio']:.2f} "
        f"({row['ours']:,.0f} against {row['theirs']:,.0f})",
        file=sys.stderr,
        flush=True,
    )


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the tables, with what is needed to read them."""
    machine = ", ".join(f"{name} {value}" for name, value in result["machine"].items())
    loads = "; ".join(
        f"{size}: {LOADS[size].batches} batches of at most {LOADS[size].tokens:,} padded tokens"
        for size in options.size
    )
    parts = [f"Measured with {machine}; medians of {options.repeats} rounds. {loads}."]
    if result["rows"]:
        parts += [report.rows_table(result["rows"]), report.verdict(result["rows"])]
    parts.append(report.engines_table(result["groups"]))
    parts.append(report.pipeline_notes(result["pipelines"]))
    if result["memory"]:
        parts.append(report.memory_table(result["memory"]))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description="Measures training, compared with PyTorch, keras-hub and text-book Keras.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    add = parser.add_argument
    add("--size", type=names(LOADS), default="tiny,base", help=f"of {', '.join(LOADS)}")
    add("--precision", type=names(PRECISIONS), default=",".join(PRECISIONS), help="of these two")
    add("--peers", type=names(PEERS), default=",".join(PEERS), help="of these, or none")
    add("--compiler", type=names(COMPILERS), default="off,on", help="XLA or torch.compile")
    add("--repeats", type=count, default=5, help="turns of each engine; their median counts")
    add("--data", type=Path, help="folder of train.{en,de}.gz; the demo corpus without")
    add("--memory", type=names(LOADS), default="base", help="sizes of the memory figure, or none")
    add("--json", type=Path, metavar="FILE", help="where to write all figures")
    add("--work", type=Path, default=Path("build/benchmarks"), help="where batches are kept")
    options = parser.parse_args(arguments)
    if not (options.precision and options.compiler):
        parser.error("--precision and --compiler need at least one name each")
    return options


if __name__ == "__main__":
    main()
