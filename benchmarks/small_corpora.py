"""Measures the defaults of training on small corpora beside configurations that are set by hand.

    python benchmarks/small_corpora.py DATA OUTPUT [--rows NAME …] [--defaults] [--picture FILE]

DATA is the folder of `multi30k_en_de` and `localisation_en_de`. Trains each row by the command
line's defaults and then by twenty configurations that cost no more, and measures all on the row's
test set, where the best is chosen, too, which favours the search. Where a row has several seeds,
the three best of one seed run with the others, and means are compared. A row whose defaults have 95
of 100 already is not searched. Each result is a line of OUTPUT, and what has one is not run again.
Prints the table of what OUTPUT has, and draws it.
"""

import argparse
import json
import math
import os
from pathlib import Path
from typing import Any

from small import report
from small.corpora import Row, rows, unlabelled
from small.measure import measure, train_bert
from small.search import configurations

# More than one would make processor time depend on what else runs.
_THREADS = 1
# Configurations that run with every seed of a row.
_FINALISTS = 3


def main() -> None:
    """Runs what OUTPUT lacks, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--rows", nargs="*", help="names of rows; all if not given")
    parser.add_argument("--defaults", action="store_true", help="leave the search out")
    parser.add_argument(
        "--picture", type=Path, metavar="FILE", help="where to draw it (.svg, .png)"
    )
    given = parser.parse_args()
    known = {row.name: row for row in rows(given.data)}
    wrong = sorted(set(given.rows or ()) - set(known))
    if wrong:
        parser.error(f"there is no row {wrong[0]!r}; there are {', '.join(known)}")
    given.output.parent.mkdir(parents=True, exist_ok=True)
    bert = given.output.with_suffix(".bert")
    for name in known if given.rows is None else given.rows:
        row = known[name]
        if row.start != "scratch":
            train_bert(unlabelled(given.data), bert, _THREADS)
        _run(row, given.output, bert, search=not given.defaults)
    comparisons = report.compare(_results(given.output))
    print(report.table(comparisons))
    if given.picture is not None:
        report.draw(comparisons, given.picture)


def _run(row: Row, output: Path, bert: Path, *, search: bool) -> None:
    """Measures the defaults of a row and, where asked for, its configurations."""
    place = output.with_suffix(".runs") / str(os.getpid())

    def result(flags: dict[str, Any], seed: int) -> dict[str, Any]:
        for one in _results(output):
            if (one["row"], one["flags"], one["seed"]) == (row.name, flags, seed):
                return one
        found = {"row": row.name, "metric": row.metric, "flags": flags, "seed": seed}
        try:
            found |= measure(row, flags, seed, place, bert, _THREADS)
        except RuntimeError:
            if not flags:
                raise
            # A configuration may be refused, as one with more pieces than a corpus has. It is tried
            # again by the next call, as a full disk may be the reason, too.
            return found | {"score": math.inf if row.metric == "perplexity" else 0.0}
        with output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        return found

    first, *others = row.seeds
    defaults = [result({}, seed) for seed in row.seeds]
    [compared] = report.compare(defaults)
    if not search or compared.is_shown_by_ceiling:
        return
    tried = [result(flags, first) for flags in configurations(row, defaults[0])]
    best = sorted(tried, key=report.goodness, reverse=True)[:_FINALISTS]
    for seed in others:
        for one in best:
            result(one["flags"], seed)


def _results(output: Path) -> list[dict[str, Any]]:
    lines = output.read_text("utf-8").splitlines() if output.exists() else []
    return [json.loads(line) for line in lines]


if __name__ == "__main__":
    main()
