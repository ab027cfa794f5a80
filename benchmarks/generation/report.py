"""Writes what was measured of decoders as Markdown tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from driver import table
from peers.names import fastest
from speed.cells import OURS

MUST = {"lowest": 1.0, "mean": 1.0}
AIM = {"lowest": 1.25, "mean": 1.5}


def generate_table(cells: Sequence[Mapping[str, Any]], libraries: Sequence[str]) -> str:
    """Makes the table of ratios.

    Args:
        cells: From `measure_size`; each has a line.
        libraries: The peers' names.
    """
    splits = any("ratio_split" in cell for cell in cells)
    heads = ["model", "precision", "threads", "search", "prompt", "batch", "ours", *libraries]
    heads += ["best peer", "ratio", "lowest–highest", "ratio in processor seconds"]
    heads += ["float32 ids equal", *(["ratio to CTranslate2 splitting the batch"] * splits)]
    lines = []
    for cell in cells:
        best = cell["peer_name"]
        line = [cell["size"], cell["precision"], str(cell["threads"]), cell["search"]]
        line += [str(cell["prompt"]), str(cell["batch"]), _rate(cell["ours"])]
        line += [_rate(fastest(cell["peers"], library)) for library in libraries]
        line += [best, f"**{cell['ratio']:.2f}**"]
        line.append(f"{cell['ratio_low']:.2f}–{cell['ratio_high']:.2f}")
        line.append(f"{cell['ratio_processor']:.2f}")
        line.append(f"{cell['float32_equal']:.1%}")
        line += [f"{cell['ratio_split']:.2f}" if "ratio_split" in cell else "–"] * splits
        lines.append(line)
    return table(heads, lines)


def quality_table(rows: Sequence[Mapping[str, Any]], libraries: Sequence[str]) -> str:
    """Makes the table of perplexities, one line for each row of `quality.measure_quality`."""
    heads = ["precision", OURS, *libraries]
    return table(
        heads,
        [
            [row["precision"], *(_perplexity(row["perplexity"].get(name)) for name in heads[1:])]
            for row in rows
        ],
    )


def _rate(value: float | None) -> str:
    return "–" if value is None else f"{value:,.1f}"


def _perplexity(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
