"""The systems of the lineage on all tasks, as a Markdown table and a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import driver

from keras_transformer.plotting.style import COLOURS, new_figure, save_picture, styled

Lines = Sequence[dict[str, Any]]


def table(lines: Lines, systems: Sequence[str], tasks: Sequence[str]) -> str:
    """Returns a row of Markdown for each system that has a result: means over the seeds."""
    rows = []
    for system in systems:
        found = [_mean(lines, system, task) for task in tasks]
        if any(one is not None for one in found):
            # Bits are small numbers, percentages are not.
            cells = ["–" if one is None else f"{one:.{1 if one >= 10 else 3}f}" for one in found]
            rows.append([system, *cells])
    return driver.table(["system", *tasks], rows)


@styled
def draw(lines: Lines, systems: Sequence[str], tasks: Sequence[str], path: Path) -> None:
    """Draws a panel for each task, with a bar for each system that has a part in it."""
    figure = new_figure(10.5, 1.2 + 0.28 * len(systems))
    for place, (axes, task) in enumerate(
        zip(figure.subplots(1, len(tasks), sharey=True), tasks, strict=True)
    ):
        for row, system in enumerate(systems):
            one = _mean(lines, system, task)
            if one is not None:
                axes.barh(row, one, color=COLOURS[place])
                axes.text(0, row, f" {one:.{1 if one >= 10 else 3}f}", va="center", color="white")
        axes.set(title=task, yticks=range(len(systems)), yticklabels=systems)
        axes.set_ylim(len(systems) - 0.5, -0.5)
    save_picture(figure, path)


def _mean(lines: Lines, system: str, task: str) -> float | None:
    scores = [
        line["score"] for line in lines if (line.get("system"), line.get("task")) == (system, task)
    ]
    return sum(scores) / len(scores) if scores else None
