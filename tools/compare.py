"""Compares what two checkouts of this project make of the same runs: ids must be equal.

    python -m tools.compare OLD NEW --work build/compare
    python -m tools.compare OLD NEW --work build/compare --run runs/demo --sizes tiny

OLD and NEW are checkouts, each with its own `.venv`. OLD makes random runs (sizes, norms, one and
two vocabularies); both export all runs for each target in float32 and int8 and search them with
the options of each case of the table in tests/search_table. Prints a line for each artefact with
the seconds of both exports, and their medians; ends with status 1 where ids differ.

    python -m tools.compare OLD NEW --work build/compare --override '{"activation": "gelu"}'
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TARGETS = ("onnxruntime", "native", "portable")
PRECISIONS = ("float32", "int8")
# Explicit, since its default has changed.
_ALWAYS = {"max_length": 24, "min_length": 1}


def main() -> int:
    """Makes the runs, has both checkouts export and search them, and compares."""
    options = parse()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    searches = table_searches()
    (work / "searches.json").write_text(json.dumps(searches), encoding="utf-8")
    runs = [*options.run, *random_runs(options, work)]
    different, seconds = 0, []
    artefacts = itertools.product(runs, options.targets, options.precisions)
    for run, target, precision in artefacts:
        if target == "portable" and precision.startswith("int8"):
            continue  # standard operators have float32 and float16 alone
        order = [str(run.resolve()), target, precision, str(work)]
        old, new = (ask(checkout, "search", *order) for checkout in (options.old, options.new))
        wrong = differing(searches, old["ids"], new["ids"])
        different += len(wrong)
        seconds.append((old["seconds"], new["seconds"]))
        times = f"export {old['seconds']:.1f} s, now {new['seconds']:.1f} s"
        print(f"{run.name} {target} {precision}: {len(searches)} searches, {times}", flush=True)
        for search in wrong:
            print(f"  other ids with {search}", flush=True)
    before, now = (statistics.median(side) for side in zip(*seconds, strict=True))
    print(f"{different} searches differ; exports took {before:.1f} s, now {now:.1f} s (medians)")
    return 1 if different else 0


def parse() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path, help="checkout to compare with")
    parser.add_argument("new", type=Path, help="checkout to look at")
    parser.add_argument("--work", type=Path, required=True, help="folder for runs and artefacts")
    parser.add_argument("--run", type=Path, action="append", default=[], help="a further run")
    parser.add_argument("--sizes", nargs="*", default=["tiny", "base"], help="random runs to make")
    parser.add_argument("--targets", nargs="*", default=TARGETS)
    parser.add_argument("--precisions", nargs="*", default=PRECISIONS)
    parser.add_argument("--norms", nargs="*", default=["post", "pre"])
    parser.add_argument("--shares", nargs="*", default=["all", "none"])
    parser.add_argument("--override", default="{}", help="fields of the runs' configs, in JSON")
    return parser.parse_args()


def differing(
    searches: list[dict[str, Any]], old: list[Any], new: list[Any]
) -> list[dict[str, Any]]:
    """Returns the searches whose ids differ."""
    triples = zip(searches, old, new, strict=True)
    return [search for search, before, now in triples if before != now]


def table_searches() -> list[dict[str, Any]]:
    """Returns the different options of the cases in tests/search_table."""
    sys.path.insert(0, str(ROOT / "tests" / "search_table"))
    parts = ("plain", "length", "constraint", "sampling")
    cases = [case for part in parts for case in import_module(f"{part}_cases").CASES]
    # Tokens of the table's own vocabulary mean nothing here.
    found = [{**_ALWAYS, **case.options} for case in cases]
    return [dict(items) for items in {json.dumps(options): options for options in found}.values()]


def random_runs(options: argparse.Namespace, work: Path) -> list[Path]:
    """Has the old checkout make runs with random weights, those that are not there yet."""
    runs = []
    for size, norm, share in itertools.product(options.sizes, options.norms, options.shares):
        fields = json.loads(options.override)
        name = "-".join([size, norm, share, *(f"{key}={value}" for key, value in fields.items())])
        run = work / name
        if not (run / "model.keras").exists():
            ask(options.old, "make", str(run), size, norm, share, json.dumps(fields))
        runs.append(run)
    return runs


def ask(checkout: Path, *order: str) -> dict[str, Any]:
    """Runs compare_worker.py with a checkout's interpreter and returns what it prints last."""
    command = [str(checkout.resolve() / ".venv" / "bin" / "python")]
    command += [str(ROOT / "tools" / "compare_worker.py"), *order]
    done = subprocess.run(command, capture_output=True, text=True, cwd=checkout)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    sys.exit(main())
