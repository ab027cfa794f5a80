"""Learning curves hold the figures of the records, over the updates, for each run."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keras_transformer.plotting.curves import learning_curves
from keras_transformer.plotting.style import COLOURS

HISTORY = {
    "step": [100, 200, 300],
    "loss": [5.0, 4.0, 3.5],
    "val_loss": [4.5, 4.0, 3.8],
    "perplexity": [90.0, 40.0, 20.0],
    "val_perplexity": [80.0, 45.0, 30.0],
    "learning_rate": [0.001, 0.002, 0.003],
    "val_bleu": [None, 10.0, 20.0],
}


@pytest.fixture
def make_run(tmp_path: Path) -> Any:
    """`make_run(name, history)` writes the record of a run and returns its directory."""

    def make(name: str, history: dict[str, Any]) -> Path:
        run = tmp_path / name
        run.mkdir()
        (run / "training.json").write_text(json.dumps({"history": history}))
        return run

    return make


def panel(figure: Figure, title: str) -> Axes:
    (found,) = [axes for axes in figure.axes if axes.get_title().startswith(title)]
    return found


def lines(axes: Axes) -> list[tuple[str, list[float], list[float]]]:
    return [
        (line.get_linestyle(), list(line.get_xdata()), list(line.get_ydata()))
        for line in axes.get_lines()
    ]


def test_training_is_dashed_and_validation_solid_over_the_updates(make_run) -> None:
    figure = learning_curves([make_run("a", HISTORY)])
    loss = panel(figure, "Loss")
    assert lines(loss) == [
        ("--", HISTORY["step"], HISTORY["loss"]),
        ("-", HISTORY["step"], HISTORY["val_loss"]),
    ]
    assert (loss.get_xlabel(), loss.get_ylabel()) == ("updates", "nats per token")
    assert panel(figure, "Perplexity").get_yscale() == "log"


def test_a_round_without_a_figure_has_no_point(make_run) -> None:
    figure = learning_curves([make_run("a", HISTORY)])
    drawn = [line for line in lines(panel(figure, "BLEU")) if line[1]]
    assert drawn == [("-", [200, 300], [10.0, 20.0])]


def test_a_figure_that_no_run_has_gets_no_panel(make_run) -> None:
    titles = [axes.get_title() for axes in learning_curves([make_run("a", HISTORY)]).axes]
    assert len(titles) == 4 and "Token accuracy" not in titles


def test_runs_have_colours_of_their_own_and_stand_in_the_legend(make_run) -> None:
    shorter = {name: values[:1] for name, values in HISTORY.items()}
    runs = [make_run("a", HISTORY), make_run("b", shorter)]
    figure = learning_curves(runs)
    loss = panel(figure, "Loss")
    assert [line.get_color() for line in loss.get_lines()] == [*COLOURS[:1] * 2, *COLOURS[1:2] * 2]
    # One round alone would be a line without length.
    assert [line.get_marker() for line in loss.get_lines()] == ["None", "None", "o", "o"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [*map(str, runs), "validation", "training"]
    for config, expected in (
        ('{"dropout": 0.1}', "training, with dropout"),
        ('{"dropout": 0.0, "attention_dropout": 0.0}', "training"),
    ):
        (runs[1] / "config.json").write_text(config)
        assert learning_curves(runs).legends[0].get_texts()[-1].get_text() == expected


def test_all_panels_show_the_same_updates(make_run) -> None:
    figure = learning_curves([make_run("a", HISTORY)])
    for axes in figure.axes:
        np.testing.assert_allclose(axes.get_xlim(), (0, 306))


def test_a_directory_without_a_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"training.json is missing: give run directories"):
        learning_curves([tmp_path])


def test_a_run_without_a_round_is_named(make_run) -> None:
    with pytest.raises(ValueError, match="has no finished round yet"):
        learning_curves([make_run("a", {"step": []})])


def test_a_classifier_has_an_accuracy_also_under_the_names_of_before(make_run) -> None:
    history = {"step": [1, 2], "loss": [0.7, 0.5], "val_loss": [0.6, 0.5]}
    before = make_run("a", {**history, "val_token_accuracy": [0.5, 0.8], "perplexity": [2.0, 1.6]})
    now = make_run("b", {**history, "val_accuracy": [0.6, 0.9]})
    for run in (before, now):
        (run / "config.json").write_text(json.dumps({"head": "classification"}))
    figure = learning_curves([before, now])
    assert [values for _, _, values in lines(panel(figure, "Accuracy"))] == [
        [],
        [0.5, 0.8],
        [],
        [0.6, 0.9],
    ]
    assert panel(figure, "Loss").get_ylabel() == "nats per text"
    assert not [axes for axes in figure.axes if axes.get_title() == "Perplexity"]
