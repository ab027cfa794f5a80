"""Learning curves of runs, over the updates."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from keras_transformer.config.families import CONFIG
from keras_transformer.plotting.style import COLOURS, new_figure, styled
from keras_transformer.runs.figure_names import figure_names, renamed_figures

RECORD = "training.json"
Points = tuple[list[int], list[float]]


@dataclass(frozen=True)
class Panel:
    """One figure of a run: its name in the record, and how it is shown."""

    name: str
    title: str
    unit: str
    scale: str = "linear"

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Names in the record with the style of their line: training, validation."""
        return (self.name, "--"), (f"val_{self.name}", "-")


PANELS = (
    Panel("loss", "Loss (label smoothing included)", "nats per {predicted}"),
    Panel("perplexity", "Perplexity", "perplexity", "log"),
    Panel("token_accuracy", "Token accuracy", "share of tokens"),
    Panel("accuracy", "Accuracy", "share of texts"),
    Panel("tag_accuracy", "Tag accuracy", "share of words"),
    Panel("retrieval_accuracy", "Retrieval accuracy", "share of pairs"),
    Panel("bleu", "BLEU on validation sentences, greedy", "BLEU"),
    Panel("chrf", "chrF on validation sentences, greedy", "chrF"),
    Panel("learning_rate", "Learning rate", "learning rate"),
)


class Record:
    """The figures that a run wrote after each round.

    Args:
        run: Run directory.

    Raises:
        FileNotFoundError: The directory holds no record.
        ValueError: The record has no finished round yet.
    """

    def __init__(self, run: Path) -> None:
        path = run / RECORD
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: give run directories of `keras-transformer train`."
            )
        self.run = run
        config = _config(run)
        history = json.loads(path.read_text(encoding="utf-8")).get("history", {})
        self._history = renamed_figures(config.get("head"), history)
        self.predicted = figure_names(config.get("head")).predicted
        self.has_dropout = any(value for name, value in config.items() if name.endswith("dropout"))
        if not self._history.get("step"):
            raise ValueError(f"{path} has no finished round yet: wait for its first checkpoint.")

    def points(self, name: str) -> Points:
        """Returns updates and values of the rounds that have this figure."""
        pairs = zip(self._history["step"], self._history.get(name, ()), strict=False)
        kept = [(step, value) for step, value in pairs if value is not None]
        return [step for step, _ in kept], [value for _, value in kept]


def _config(run: Path) -> dict[str, Any]:
    """Returns the config of a run's model; {} if it cannot be read."""
    try:
        return dict(json.loads((run / CONFIG).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


@styled
def learning_curves(runs: Sequence[Path]) -> Figure:
    """Draws loss, perplexity, accuracy, BLEU and learning rate over the updates.

    Args:
        runs: Run directories; each gets a colour. Training is dashed, validation solid.

    Raises:
        FileNotFoundError: One is no run directory.
        ValueError: One has no finished round yet.
    """
    records = [Record(run) for run in runs]
    panels = [
        panel
        for panel in PANELS
        if any(record.points(name)[0] for record in records for name, _ in panel.lines)
    ]
    predicted = " or ".join(sorted({record.predicted for record in records}))
    last = max(record.points("step")[0][-1] for record in records)
    rows = (len(panels) + 1) // 2
    figure = new_figure(9, 2.6 * rows + 0.4 + 0.2 * len(runs))
    for number, panel in enumerate(panels):
        axes = figure.add_subplot(rows, 2, number + 1)
        for colour, record in zip(_colours(len(records)), records, strict=True):
            _draw(axes, panel, record, colour)
        axes.set(title=panel.title, xlabel="updates", yscale=panel.scale)
        axes.set_ylabel(panel.unit.format(predicted=predicted))
        axes.set_xlim(0, 1.02 * last)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        if panel.scale == "log":
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
    _add_legend(figure, records)
    return figure


def _colours(count: int) -> list[str]:
    return [COLOURS[number % len(COLOURS)] for number in range(count)]


def _draw(axes: Axes, panel: Panel, record: Record, colour: str) -> None:
    for name, style in panel.lines:
        steps, values = record.points(name)
        # The learning rate has no validation line to be told apart from.
        style = "-" if panel.name == "learning_rate" else style
        # A single round gets a marker: its line would have no length.
        axes.plot(
            steps, values, style, color=colour, marker="o" if len(steps) == 1 else None, label=name
        )


def _add_legend(figure: Figure, records: list[Record]) -> None:
    handles = [
        Line2D([], [], color=colour, label=str(record.run))
        for colour, record in zip(_colours(len(records)), records, strict=True)
    ]
    with_dropout = any(record.has_dropout for record in records)
    training = "training, with dropout" if with_dropout else "training"
    handles += [
        Line2D([], [], color=COLOURS[6], label="validation"),
        Line2D([], [], color=COLOURS[6], linestyle="--", label=training),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
