"""Measures the defaults of training on small corpora beside configurations that are set by hand.

    python benchmarks/small_corpora.py DATA OUTPUT [--rows NAME …] [--defaults]

DATA is the folder of `multi30k_en_de` and `localisation_en_de`. Trains each row by the command
line's defaults and then by twenty configurations that cost no more, and measures all on the row's
test set, where the best is chosen, too, which favours the search. Each result is a line of OUTPUT,
and what has one is not run again. Prints the table of what OUTPUT has.
"""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from small.corpora import Row, rows, unlabelled
from small.measure import measure, train_bert
from small.search import configurations

# More than one would make processor time depend on what else runs.
_THREADS = 1


def main() -> None:
    """Runs what OUTPUT lacks, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rows", nargs="+", help="names of rows; all if not given")
    parser.add_argument("--defaults", action="store_true", help="leave the search out")
    given = parser.parse_args()
    known = {row.name: row for row in rows(given.data)}
    wrong = sorted(set(given.rows or ()) - set(known))
    if wrong:
        parser.error(f"there is no row {wrong[0]!r}; there are {', '.join(known)}")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    bert = given.output.with_suffix(".bert")
    for name in given.rows or known:
        row = known[name]
        if row.start != "scratch":
            train_bert(unlabelled(given.data), bert, _THREADS)
        _run(row, given.output, bert, search=not given.defaults)
    print(_table(_results(given.output)))


def _run(row: Row, output: Path, bert: Path, *, search: bool) -> None:
    """Measures the defaults of a row and, where asked for, its configurations."""
    place = output.with_suffix(".runs") / str(os.getpid())

    def result(flags: dict[str, Any]) -> dict[str, Any]:
        for one in _results(output):
            if (one["row"], one["flags"]) == (row.name, flags):
                return one
        figures = measure(row, flags, place, bert, _THREADS)
        found = {"row": row.name, "metric": row.metric, "flags": flags, **figures}
        with output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        return found

    default = result({})
    for flags in configurations(row, default) if search else ():
        result(flags)


def _results(output: Path) -> list[dict[str, Any]]:
    lines = output.read_text("utf-8").splitlines() if output.exists() else []
    return [json.loads(line) for line in lines]


def _table(results: list[dict[str, Any]]) -> str:
    """Returns a row of Markdown for each corpus."""
    return "\n".join(_rows_of_table(results))


def _rows_of_table(results: list[dict[str, Any]]) -> Iterator[str]:
    yield "| corpus | metric | defaults | seconds | best of | configurations | ratio |"
    yield "|---|---|---|---|---|---|---|"
    for name in dict.fromkeys(one["row"] for one in results):
        own = [one for one in results if one["row"] == name]
        default = next(one for one in own if not one["flags"])
        lower_is_better = default["metric"] == "perplexity"
        others = [one["score"] for one in own if one["flags"]]
        best = (min if lower_is_better else max)(others, default=default["score"])
        ratio = best / default["score"] if lower_is_better else default["score"] / max(best, 1e-9)
        yield (
            f"| {name} | {default['metric']} | {default['score']:.2f} | {default['seconds']:.0f} | "
            f"{best:.2f} | {len(others)} | {ratio:.3f} |"
        )


if __name__ == "__main__":
    main()
