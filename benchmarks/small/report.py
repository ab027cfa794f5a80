"""The defaults beside the best configuration of each corpus, as a Markdown table and a picture."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import driver

from keras_transformer.plotting.style import COLOURS, PALE, new_figure, save_picture, styled

# What the defaults must reach of the best.
_LIMIT = 0.95
# No configuration has a higher score; perplexity knows no such bound.
_CEILING = 100


@dataclass(frozen=True)
class Comparison:
    """A row of the table.

    Attributes:
        row: The corpus and its task.
        metric: What was measured on the test set.
        defaults: The defaults' score, a mean over the seeds of the row.
        best: That of the best configuration which ran with as many seeds, the defaults included;
            without a search, what no configuration can surpass.
        tried: How many configurations were searched.
        updates: What the defaults trained for.
        seconds: How long that took.
    """

    row: str
    metric: str
    defaults: float
    best: float
    tried: int
    updates: int
    seconds: float

    @property
    def ratio(self) -> float:
        """The share of the best that the defaults reach, at most 1."""
        return min(self.defaults, self.best) / max(self.defaults, self.best, 1e-9)

    @property
    def is_shown_by_ceiling(self) -> bool:
        """Whether the defaults reach the limit of whatever a search could find."""
        return not self.tried and self.metric != "perplexity" and self.ratio >= _LIMIT


def goodness(result: dict[str, Any]) -> float:
    """Returns the score of a result, larger for a better one."""
    return -result["score"] if result["metric"] == "perplexity" else result["score"]


def compare(results: Sequence[dict[str, Any]]) -> list[Comparison]:
    """Returns the rows that have a result of the defaults, in their order."""
    names = dict.fromkeys(one["row"] for one in results)
    return [_compared([one for one in results if one["row"] == name]) for name in names]


def table(comparisons: Sequence[Comparison]) -> str:
    """Returns a row of Markdown for each corpus."""
    heads = ["corpus", "metric", "defaults", "best", "ratio", "tried", "updates", "seconds"]
    return driver.table(
        heads,
        (
            [
                one.row,
                one.metric,
                f"{one.defaults:.2f}",
                *_beside(one),
                str(one.tried),
                str(one.updates),
                f"{one.seconds:.0f}",
            ]
            for one in comparisons
        ),
    )


def _beside(one: Comparison) -> tuple[str, str]:
    """Returns the best score and the ratio as the table has them."""
    if one.tried or one.is_shown_by_ceiling:
        at_most, at_least = ("", "") if one.tried else ("≤ ", "≥ ")
        return f"{at_most}{one.best:.2f}", f"{at_least}{one.ratio:.3f}"
    return "–", "–"


@styled
def draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draws the ratio of each searched corpus as a bar, and the limit as a line."""
    searched = [one for one in comparisons if one.tried][::-1]
    figure = new_figure(6.5, 1.2 + 0.32 * len(searched))
    axes = figure.subplots()
    labels = [f"{one.row} ({one.metric})" for one in searched]
    axes.barh(labels, [1] * len(searched), color=PALE)
    axes.barh(labels, [one.ratio for one in searched], height=0.5, color=COLOURS[0])
    for place, one in enumerate(searched):
        text = f"{one.defaults:.1f} of {one.best:.1f}"
        axes.text(0.01, place, text, va="center", color="white")
    axes.axvline(_LIMIT, color=COLOURS[1])
    axes.set(
        xlim=(0, 1.02), xlabel=f"share of the best that the defaults reach; the line is {_LIMIT}"
    )
    save_picture(figure, path)


def _compared(results: list[dict[str, Any]]) -> Comparison:
    by_flags: dict[str, list[dict[str, Any]]] = {}
    for one in results:
        by_flags.setdefault(json.dumps(one["flags"]), []).append(one)
    default = by_flags.pop("{}")
    finalists = [runs for runs in by_flags.values() if len(runs) == len(default)]
    best = max([_mean(default), *map(_mean, finalists)]) if by_flags else _CEILING
    return Comparison(
        row=default[0]["row"],
        metric=default[0]["metric"],
        defaults=abs(_mean(default)),
        best=abs(best),
        tried=len(by_flags),
        updates=default[0]["updates"],
        seconds=default[0]["seconds"],
    )


def _mean(runs: list[dict[str, Any]]) -> float:
    return sum(map(goodness, runs)) / len(runs)
