"""Writes what was measured as Markdown tables, and says whether the goals are reached."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from driver import table

MUST = {"lowest": 1.0, "mean": 1.6}
AIM = {"lowest": 1.25, "mean": 2.0}
_HEADS = {"naive": "naive ONNX", "keras": "Keras predict", "optimum": "Optimum"}


def decode_table(cells: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    """Makes the table of ratios, one line for each cell.

    Args:
        cells: From `measure_cell`, with the limits' and the columns' fields.
        columns: Further engines that were measured.
    """
    heads = ["model", "length", "threads", "search", "precision", "batch", "ours", "CTranslate2"]
    heads += ["its threads", "ratio", "lowest–highest", "ratio in processor seconds"]
    heads += ["ratio to it splitting the batch"]
    heads += ["of memory limit", "of matrix limit"]
    heads += ["float32 ids equal", "first token as in float32: ours, CTranslate2"]
    heads += [_HEADS[name] for name in columns]
    rows = []
    for cell in cells:
        row = [cell["size"], str(cell["length"]), str(cell["threads"])]
        row += [cell["search"], cell["precision"], str(cell["batch"])]
        row += [_count(cell["ours"]), _count(cell["peer"]), cell["peer_name"]]
        row += [f"**{cell['ratio']:.2f}**", f"{cell['ratio_low']:.2f}–{cell['ratio_high']:.2f}"]
        row.append(f"{cell['ratio_processor']:.2f}")
        row.append(f"{cell['ratio_split']:.2f}" if "ratio_split" in cell else "–")
        row += [f"{cell['memory_fraction']:.0%}", f"{cell['matrix_fraction']:.0%}"]
        row += [f"{cell['float32_equal']:.1%}", _agreements(cell)]
        row += [_count(cell.get(name)) for name in columns]
        rows.append(row)
    return table(heads, rows)


def split_note(cells: Sequence[Mapping[str, Any]]) -> str:
    """Explains the column of split batches and gives its geometric mean, in one line."""
    ratios = [cell["ratio_split"] for cell in cells if "ratio_split" in cell]
    if not ratios:
        return "No batch could be split."
    return (
        "Splitting: CTranslate2 translates parts of a batch at the same time, a thread each; "
        f"ratio to that: lowest {min(ratios):.2f}, geometric mean "
        f"{statistics.geometric_mean(ratios):.2f} of {len(ratios)} cells."
    )


def text_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table of real text, one line for each search and precision."""
    heads = ["search", "precision", "ours", "CTranslate2", "its threads", "ratio"]
    heads += ["lowest–highest", "BLEU ours", "BLEU CTranslate2", "same translation"]
    return table(
        heads,
        [
            [
                row["search"],
                row["precision"],
                _count(row["ours"]),
                _count(row["peer"]),
                row["peer_name"],
                f"**{row['ratio']:.2f}**",
                f"{row['ratio_low']:.2f}–{row['ratio_high']:.2f}",
                f"{row['bleu']['ours']:.2f}",
                f"{row['bleu']['peer']:.2f}",
                f"{row['same']:.1%}",
            ]
            for row in rows
        ],
    )


def verdict(
    ratios: Sequence[float], must: Mapping[str, float] = MUST, aim: Mapping[str, float] = AIM
) -> str:
    """Says how the ratios stand to the goals, in one line.

    Args:
        ratios: One for each cell, at least one.
        must: The "lowest" ratio and the geometric "mean" that must be reached.
        aim: Those that are aimed at.
    """
    lowest, mean = min(ratios), statistics.geometric_mean(ratios)

    def reached(goal: Mapping[str, float]) -> str:
        return "reached" if lowest >= goal["lowest"] and mean >= goal["mean"] else "missed"

    return (
        f"{len(ratios)} cells: lowest ratio {lowest:.2f}, geometric mean {mean:.2f}. "
        f"Must (≥ {must['lowest']}, ≥ {must['mean']}): {reached(must)}. "
        f"Aim (≥ {aim['lowest']}, ≥ {aim['mean']}): {reached(aim)}."
    )


def rates(cells: Sequence[Mapping[str, Any]]) -> str:
    """Says what the limits were computed from, in one line."""
    reads: dict[str, float] = {}
    products: dict[str, float] = {}
    for cell in cells:
        reads.update(cell["rates"]["bytes"])
        products.update(cell["rates"]["multiply_adds"])
    read = ", ".join(
        f"{reads[size] / 1e9:.0f} GB/s over {int(size) / 1e6:.1f} MB"
        for size in sorted(reads, key=int)
    )
    product = ", ".join(f"{rate / 1e9:.0f} G/s in {kind}" for kind, rate in products.items())
    return (
        f"Memory limit: the weights' bytes for each token; memory was read at {read}. "
        f"Matrix limit: multiply-adds for each token; done at {product}, the faster for int8."
    )


def _agreements(cell: Mapping[str, Any]) -> str:
    return f"{cell['ours_agreement']:.0%}, {cell['peer_agreement']:.0%}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
