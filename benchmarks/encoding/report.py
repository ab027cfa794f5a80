"""Writes what was measured of encoders as Markdown tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from driver import table
from peers.names import fastest
from speed.cells import OURS

# The goals are for every cell; a mean cannot miss what all reach.
MUST = {"lowest": 1.0, "mean": 1.0}
AIM = {"lowest": 1.2, "mean": 1.2}


def encode_table(rows: Sequence[Mapping[str, Any]], libraries: Sequence[str]) -> str:
    """Makes the table of ratios, one line for each cell.

    Args:
        rows: From `measure_size`.
        libraries: The peers' libraries; a peer's name is that of its library and its threads.
    """
    heads = ["model", "precision", "length", "batch", "ours", *libraries, "best peer", "ratio"]
    heads += ["lowest–highest", "CPU seconds: ours, best peer", "deviation: ours, best peer"]
    heads.append("least cosine: ours, best peer")
    lines = []
    for row in rows:
        best = row["peer_name"]
        line = [row["size"], row["precision"], row["length"], str(row["batch"])]
        line += [f"{row['ours']:,.0f}", *(_rate(fastest(row["peers"], name)) for name in libraries)]
        line += [best, f"**{row['ratio']:.2f}**"]
        line.append(f"{row['ratio_low']:.2f}–{row['ratio_high']:.2f}")
        line.append(f"{row['cpu_seconds'][OURS]:.3g}, {row['cpu_seconds'][best]:.3g}")
        line.append(f"{row['deviation'][OURS]:.2%}, {row['deviation'][best]:.2%}")
        line.append(f"{row['cosine'][OURS]:.4f}, {row['cosine'][best]:.4f}")
        lines.append(line)
    return table(heads, lines)


def notes(rows: Sequence[Mapping[str, Any]]) -> str:
    """Explains the columns, in one paragraph."""
    largest = max(row["difference"] for row in rows)
    return (
        "Rates are tokens a second, padding not counted; a peer's name says its threads, and the "
        "faster number of threads counts. CPU seconds are those of all threads for the work of "
        "one turn. Deviation is that of the states from the same engine's float32 states, "
        "relative to theirs; the cosine is that of a row's mean state with our float32's. "
        f"Float32 states of all engines differ by at most {largest:.1g}."
    )


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
