"""Measures how fast models train on an accelerator: ours on JAX, and PyTorch.

    python benchmarks/train_on_device.py --make --data data/multi30k --work batches
    python benchmarks/train_on_device.py --work batches --json device.json

The first call makes the batches and needs TensorFlow; the second one measures on JAX's default
device and on PyTorch's GPU, or on the CPU where there is none, and needs no TensorFlow: only Keras,
JAX, PyTorch and sentencepiece. Prints tokens a second, of the target and without padding, and our
ratio to PyTorch (medians), and with `--json FILE` writes all figures to FILE, as they come, and the
tables to FILE with the ending .md. All engines train the same model with the same optimizer on the
same batches of one shape, in processes of their own that take turns. A GPU computes products of
float32 in TF32 for all of them; their errors are printed. Fails in the end if an engine failed or
did other work.
"""

import argparse
import functools
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from driver import names, paragraphs, parser_of, publish, write_json
from speed.machine import describe_machine
from training import report
from training.device import ENGINES, LOADS, PACKAGES, batches_path, make, measure, row
from training.suite import PRECISIONS


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the benchmark; ends with status 1 and a message if it cannot."""
    options = parse(arguments)
    try:
        if options.make:
            for size in options.size:
                path = make(size, options.work, options.data)
                print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
            return
        check(options)
        groups = run(options)
    except (OSError, RuntimeError, ValueError) as error:
        sys.exit(f"train_on_device.py: {error}")
    failed = [f"{g['size']} {g['precision']} {name}" for g in groups for name in g["failures"]]
    if failed:
        sys.exit(f"train_on_device.py: failed: {'; '.join(failed)}")


def check(options: argparse.Namespace) -> None:
    """Raises an error if batches or packages are missing."""
    unmade = [size for size in options.size if not batches_path(size, options.work).is_file()]
    if unmade:
        raise FileNotFoundError(
            f"{options.work} has no batches for {', '.join(unmade)}: make them with --make, where "
            "TensorFlow is installed."
        )
    missing = [name for name in packages(options) if importlib.util.find_spec(name) is None]
    if missing:
        raise ValueError(
            f"the engines need {', '.join(missing)}: install it with `pip install "
            f"{' '.join(missing)}`, or leave them out with --engines."
        )


def packages(options: argparse.Namespace) -> list[str]:
    """Returns the packages that the engines need."""
    return sorted(
        {name for engine in options.engines for name in PACKAGES[ENGINES[engine].library]}
    )


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measures all that is requested, writes and prints it; returns the groups of `measure`."""
    # The engines' processes read these: neither takes all of the memory at its start.
    os.environ |= {"KERAS_BACKEND": "jax", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    result: dict[str, Any] = {"machine": describe_machine(packages(options)), "groups": []}
    save = functools.partial(write_json, result, options.json)

    for size in options.size:
        for precision in options.precision:
            result["groups"].append({})
            asked = (options.engines, options.work, options.repeats)
            measure(size, precision, *asked, result["groups"][-1], save)
            publish(write_report(options, result), options.json)
    return result["groups"]


def write_report(options: argparse.Namespace, result: dict[str, Any]) -> str:
    """Returns the tables, with what is needed to read them."""
    groups = result["groups"]
    rows = [found for found in map(row, groups) if found is not None]
    parts = [report.rows_table(rows)] if rows else []
    parts += [report.engines_table(groups), report.devices_notes(groups)]
    return paragraphs(result["machine"], f"medians of {options.repeats} rounds.", *parts)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Reads the command line."""
    what = "Measures training on an accelerator, compared with PyTorch."
    parser = parser_of(what, "repeats", "json", "work", repeats=3)
    add = parser.add_argument
    add("--size", type=names(LOADS), default="base,bert-base,gpt2", help=f"of {', '.join(LOADS)}")
    add("--precision", type=names(PRECISIONS), default=",".join(PRECISIONS), help="of these two")
    add("--engines", type=names(ENGINES), default=",".join(ENGINES), help="of these")
    add("--make", action="store_true", help="make the batches, and measure nothing")
    add("--data", type=Path, help="with --make: folder of train.{en,de}.gz; or the demo corpus")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
