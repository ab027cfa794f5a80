"""Writes what was measured of decoders as a Markdown table."""

from collections.abc import Mapping, Sequence
from typing import Any

from driver import table
from speed.cells import OURS

MUST = {"lowest": 1.0, "mean": 1.0}
AIM = {"lowest": 1.25, "mean": 1.5}


def generate_table(cells: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table of ratios, one line for each cell of `measure_size`."""
    heads = ["model", "precision", "search", "prompt", "batch", "ours", "CTranslate2"]
    heads += ["its threads", "ratio", "lowest–highest", "ratio to it splitting the batch"]
    heads += ["CPU seconds: ours, CTranslate2", "float32 ids equal"]
    lines = []
    for cell in cells:
        best = cell["peer_name"]
        line = [cell["size"], cell["precision"], cell["search"], str(cell["prompt"])]
        line += [str(cell["batch"]), f"{cell['ours']:,.1f}", f"{cell['peer']:,.1f}", best]
        line += [f"**{cell['ratio']:.2f}**", f"{cell['ratio_low']:.2f}–{cell['ratio_high']:.2f}"]
        line.append(f"{cell['ratio_split']:.2f}" if "ratio_split" in cell else "–")
        line.append(f"{cell['cpu_seconds'][OURS]:.3g}, {cell['cpu_seconds'][best]:.3g}")
        line.append(f"{cell['float32_equal']:.1%}")
        lines.append(line)
    return table(heads, lines)
