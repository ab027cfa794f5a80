"""Writes points of quality and speed as Markdown tables and as a picture."""

from collections.abc import Sequence
from pathlib import Path

from driver import table
from speed.shortlists import split

from keras_transformer.plotting.style import COLOURS, new_figure, save_picture, styled

from .points import OURS, Gain, Point, front

# What a student is to keep and to reach.
MOST_LOST, LEAST_SPEED = 0.5, 3.0
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def points_table(points: Sequence[Point]) -> str:
    """Makes the table of all points, those of the front in bold."""
    best = front(points)
    rows = []
    for point in sorted(points, key=lambda point: (point.batch, point.rate)):
        mark = "**" if point in best else ""
        rows.append(
            [
                str(point.batch),
                point.model,
                point.engine,
                point.precision,
                str(point.beam_size),
                f"{mark}{point.bleu:.2f}{mark}",
                f"{mark}{point.rate:,.0f}{mark}",
                f"{point.lowest:,.0f}–{point.highest:,.0f}",
            ]
        )
    heads = ["batch", "model", "engine", "precision", "beam", "BLEU"]
    return table([*heads, "sentences a second", "lowest–highest"], rows)


def verdict(points: Sequence[Point]) -> str:
    """Says in one line whose the front is."""
    best = front(points)
    others = [point for point in best if point.engine != OURS]
    if not others:
        return f"All {len(best)} points of the front are ours."
    named = ", ".join(
        f"{one.engine}'s {one.model} {one.precision} beam {one.beam_size} batch {one.batch}"
        for one in others
    )
    return f"{len(best) - len(others)} of {len(best)} points of the front are ours; not {named}."


def gains_table(gains: Sequence[Gain]) -> str:
    """Makes the table of what students lose and gain; what reaches the goal is in bold."""
    rows = []
    for gain in gains:
        one = gain.student
        mark = "**" if gain.lost <= MOST_LOST and gain.speed >= LEAST_SPEED else ""
        rows.append(
            [
                str(one.batch),
                one.model,
                one.precision,
                str(one.beam_size),
                f"{mark}{-gain.lost:+.2f}{mark}",
                f"{mark}{gain.speed:.1f}{mark}",
            ]
        )
    heads = ["batch", "student", "precision", "beam", "BLEU against the teacher"]
    return table([*heads, "times its speed"], rows)


@styled
def draw(points: Sequence[Point], path: Path) -> None:
    """Draws BLEU against sentences a second, an axes for each batch, and writes the picture.

    Colours are models, marks are engines; int8 is filled, with a shortlist it has a black edge. The
    front is a line.
    """
    batches = sorted({point.batch for point in points})
    models = list(dict.fromkeys(point.model for point in points))
    names = list(dict.fromkeys(point.engine for point in points))
    figure = new_figure(5.5 * len(batches), 4.5)
    for axes, batch in zip(
        figure.subplots(1, len(batches), sharey=True, squeeze=False)[0], batches, strict=True
    ):
        of_batch = [point for point in points if point.batch == batch]
        best = front(of_batch)
        axes.plot(
            [point.rate for point in best],
            [point.bleu for point in best],
            color="#999999",
            zorder=1,
        )
        for point in of_batch:
            colour = COLOURS[models.index(point.model) % len(COLOURS)]
            precision, candidates = split(point.precision)
            axes.scatter(
                point.rate,
                point.bleu,
                marker=_MARKS[names.index(point.engine) % len(_MARKS)],
                facecolors=colour if precision == "int8" else "none",
                edgecolors="black" if candidates else colour,
                zorder=2,
            )
        axes.set_xscale("log")
        axes.set(title=f"batch {batch}, one thread", xlabel="sentences a second")
    figure.axes[0].set_ylabel("BLEU")
    handles = [
        figure.axes[0].scatter([], [], color=COLOURS[place % len(COLOURS)], label=model)
        for place, model in enumerate(models)
    ] + [
        figure.axes[0].scatter([], [], marker=_MARKS[place], color="#555555", label=name)
        for place, name in enumerate(names)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    save_picture(figure, path)
