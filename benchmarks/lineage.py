"""Measures what each idea from words to XLNet brings, on the same text and tasks.

    python benchmarks/lineage.py DATA OUTPUT [--minutes 30] [--seeds 3] [--systems NAME …]
        [--picture FILE]

DATA is the folder of `multi30k_en_de` and `localisation_en_de`. Each system learns from the same
72,000 texts without labels, in the same minutes of one processor, and is then tuned for each task
by the command line's defaults; one that reads text without labels while it is tuned has its minutes
there. OUTPUT gets a line for each result, and what has one is not run again; models lie beside it.
Prints the table of what OUTPUT has, and draws it.
"""

import argparse
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ideas import bag_of_words, report
from ideas.corpora import Task, pairs_without_labels, tasks
from ideas.learn import bits_a_character, pretrain, tune, write_texts
from ideas.systems import SYSTEMS, System


class Results:
    """Results in a file, a line each; what is there is not computed again."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.lines: list[dict[str, Any]] = [json.loads(line) for line in lines]

    def has(self, **key: Any) -> bool:
        """Returns whether there is a result of these."""
        return any(key.items() <= line.items() for line in self.lines)

    def add(self, **line: Any) -> None:
        """Writes a result."""
        self.lines.append(line)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def main() -> None:
    """Runs what OUTPUT lacks, and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--minutes", type=float, default=30, help="of a system's pretraining")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--systems", nargs="*", help="names of systems; all if not given")
    parser.add_argument("--picture", type=Path, metavar="FILE", help=".svg or .png")
    given = parser.parse_args()
    known = {system.name: system for system in SYSTEMS}
    wrong = sorted(set(given.systems or ()) - set(known))
    if wrong:
        parser.error(f"there is no system {wrong[0]!r}; there are {', '.join(known)}")
    results, made = Results(given.output), given.output.with_suffix(".models")
    every = list(tasks(given.data))
    if not (made / "phrases.txt").exists():
        write_texts(pairs_without_labels(given.data), [text for (text,) in every[-1].valid], made)
    for name in known if given.systems is None else given.systems:
        _measure(known[name], every, range(given.seeds), results, made, 60 * given.minutes)
    print(report.table(results.lines, list(known), [task.name for task in every]))
    if given.picture is not None:
        report.draw(results.lines, list(known), [task.name for task in every], given.picture)


def _measure(
    system: System, every: list[Task], seeds: range, results: Results, made: Path, seconds: float
) -> None:
    """Runs what a system has no result of."""
    for one in system.pretraining:
        if not results.has(pretraining=one.name):
            results.add(pretraining=one.name, **pretrain(one, made, seconds * one.share))
    for task, seed in _cells(system, every, seeds):
        key = {"system": system.name, "task": task.name, "seed": seed}
        if results.has(**key):
            continue
        if task.kind == "language model":
            texts = [text for (text,) in task.test]
            found = {"score": bits_a_character(made / str(system.language_model), texts)}
        elif system.name == "bag of words":
            found = {"score": bag_of_words.measure(task)}
        else:
            found = tune(system, task, seed, made, made / f"tuned-{os.getpid()}", seconds)
        results.add(**key, **found)


def _cells(system: System, every: list[Task], seeds: range) -> Iterator[tuple[Task, int]]:
    """Yields the tasks that a system has a part in, with the seeds that change something."""
    for task in every:
        if task.kind == "language model":
            if system.language_model is not None:
                yield task, 0
        elif system.tuning is not None and (system.reads_pairs or not task.has_pairs):
            yield from (
                (task, seed) for seed in seeds if seed == 0 or system.name != "bag of words"
            )


if __name__ == "__main__":
    main()
