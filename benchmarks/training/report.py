"""Writes what was measured as Markdown, and says whether the goals are reached."""

from collections.abc import Mapping, Sequence
from typing import Any

from driver import table

# Of the input pipeline: times the training rate at least, padding at most.
LEAST_PIPELINE, MOST_PADDING = 20, 0.08


def rows_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table of ratios, one line for each row of `suite.row`."""
    heads = ["model", "precision", "peer", "ours", "best with", "theirs", "best with"]
    heads += ["ratio", "lowest–highest"]
    return table(
        heads,
        [
            [
                row["size"],
                row["precision"],
                row["peer"],
                f"{row['ours']:,.0f}",
                row["ours_variant"],
                f"{row['theirs']:,.0f}",
                row["theirs_variant"],
                f"**{row['ratio']:.2f}**",
                f"{row['ratio_low']:.2f}–{row['ratio_high']:.2f}",
            ]
            for row in rows
        ],
    )


def engines_table(groups: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table of all engines and variants.

    Args:
        groups: Each with "size", "precision" and "engines", `suite.measure`'s second result.
    """
    heads = ["model", "precision", "engine", "tokens/s", "compile s", "parameters"]
    heads += ["loss on the first batch, before and after", "peak memory"]
    return table(
        heads,
        [
            [
                group["size"],
                group["precision"],
                name,
                f"{engine['rate']:,.0f}",
                f"{engine['compile_seconds']:.1f}",
                f"{engine['parameters']:,}",
                f"{engine['first_loss']:.2f} → {engine['last_loss']:.2f}",
                _gigabytes(engine["peak_memory"]),
            ]
            for group in groups
            for name, engine in group["engines"].items()
        ],
    )


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Says in one line whether ours is the faster in every row."""
    lost = [row for row in rows if row["ratio"] <= 1]
    lowest = min(rows, key=lambda row: row["ratio"])
    place = f"{lowest['size']}, {lowest['precision']}, {lowest['peer']}"
    reached = f"missed in {len(lost)}" if lost else "reached"
    return (
        f"{len(rows)} rows: lowest ratio {lowest['ratio']:.2f} ({place}). "
        f"Must (faster in every row): {reached}."
    )


def pipeline_notes(pipelines: Sequence[Mapping[str, Any]]) -> str:
    """Says how fast the input pipeline is and how much is padding, a line for each stream."""
    lines = []
    for stream in pipelines:
        times, padding = stream["times_training"], stream["padding_fraction"]
        lines.append(
            f"- Input pipeline without a model, {stream['size']}, sentences segmented "
            f"{stream['segmented']}: {stream['rate']:,.0f} tokens/s, {times:,.0f} times the "
            f"fastest training (aim ≥ {LEAST_PIPELINE}: {_reached(times >= LEAST_PIPELINE)}); "
            f"{padding:.1%} padding (aim ≤ {MOST_PADDING:.0%}: "
            f"{_reached(padding <= MOST_PADDING)}); {stream['shapes']} shapes in "
            f"{stream['batches']} batches."
        )
    return "\n".join(lines)


def memory_table(memory: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table of `suite.step_memory`'s figures, with what they are of."""
    heads = ["model", "precision", "the step", "peak memory", "seconds an update"]
    rows = [
        [
            figure["size"],
            figure["precision"],
            figure["saving"],
            _gigabytes(figure["peak_memory"]),
            f"{figure['seconds']:.1f}",
        ]
        for figure in memory
    ]
    return (
        f"A process that makes our step, without XLA, on at most {memory[0]['tokens']:,} padded "
        f"tokens a side:\n\n{table(heads, rows)}"
    )


def devices_notes(groups: Sequence[Mapping[str, Any]]) -> str:
    """Says what was trained on and where, and what failed, a line for each.

    Args:
        groups: As `device.measure` fills them.
    """
    lines = []
    for group in groups:
        place = f"- {group['size']}, {group['precision']}"
        shapes = (f"{name} {'×'.join(map(str, shape))}" for name, shape in group["shapes"].items())
        errors = (
            f"{name} {engine['product_error']:.0e} on {engine['device']}"
            for name, engine in group["engines"].items()
        )
        lines += [f"{place}: {', '.join(shapes)}; errors of products: {', '.join(errors)}."]
        lines += [
            f"{place}, {name} failed: {message.strip().splitlines()[-1]}"
            for name, message in group["failures"].items()
        ]
    return "\n".join(lines)


def _reached(is_reached: bool) -> str:
    return "reached" if is_reached else "missed"


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.2f} GB"
