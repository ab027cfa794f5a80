"""Writes what was measured as a Markdown table, and says whether the goals are reached."""

from collections.abc import Mapping, Sequence
from typing import Any

from driver import table

from .suite import OURS, PLAIN

LEAST_RATIO = 3.0
RATIO_CLIENTS = 64
MOST_OVER_BARE = 1.3
_SOAK_LINES = 10


def load_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Makes the table, a line for each number of clients and server.

    Args:
        rows: From `measure_load`.
    """
    heads = ["clients", "server", "requests/s", "p50 ms", "p99 ms", "mean batch", "requests"]
    heads += ["lost", "wrong", "ratio", "lowest–highest", "p50 over the bare translator's"]
    lines = []
    for row in rows:
        for name in (OURS, PLAIN):
            found = row[name]
            line = [str(row["clients"]), name, f"{found['rate']:,.0f}"]
            line += [f"{1000 * found[key]:.1f}" for key in ("p50", "p99")]
            line.append("–" if found["batch"] is None else f"{found['batch']:.1f}")
            line += [f"{found[key]:,}" for key in ("requests", "lost", "wrong")]
            lines.append(line + (_ratios(row) if name == OURS else ["", "", ""]))
    return table(heads, lines)


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """Says how the figures stand to the goals, a sentence for each goal that was measured.

    Args:
        rows: From `measure_load`.
    """
    sentences = []
    for row in rows:
        if row["clients"] == RATIO_CLIENTS:
            reached = _reached(row["ratio"] >= LEAST_RATIO)
            sentences.append(
                f"{row['ratio']:.2f} times the plain server's requests at {RATIO_CLIENTS} clients "
                f"(must: ≥ {LEAST_RATIO}): {reached}."
            )
        if "over_bare" in row:
            reached = _reached(row["over_bare"] <= MOST_OVER_BARE)
            sentences.append(
                f"p50 of one client {row['over_bare']:.2f} times the bare translator's "
                f"{1000 * row['bare_p50']:.1f} ms (must: ≤ {MOST_OVER_BARE}): {reached}."
            )
    return " ".join(sentences)


def failures(rows: Sequence[Mapping[str, Any]]) -> str:
    """Says what was lost or answered wrongly; "" where nothing was.

    Args:
        rows: From `measure_load`.
    """
    lines = []
    for row in rows:
        for name in (OURS, PLAIN):
            found = row[name]
            if found["lost"] or found["wrong"]:
                lines.append(
                    f"{name}, {row['clients']} clients: {found['lost']} requests lost, "
                    f"{found['wrong']} wrong, the first: {found['complaints'][0]}"
                )
    return "\n".join(lines)


def soak_table(found: Mapping[str, Any]) -> str:
    """Makes a table of a soak's memory, a line for each tenth of its versions, and counts requests.

    Args:
        found: From `soak`.
    """
    samples = found["samples"]
    chosen = samples[:: max(1, len(samples) // _SOAK_LINES)]
    lines = [
        [
            f"{one['seconds']:,.0f}",
            str(one["loads"]),
            f"{one['rss']:.0f}",
            f"{one['anonymous']:.0f}",
        ]
        for one in [*chosen, *samples[-1:]]
    ]
    counts = ", ".join(f"{found[name]:,} {name}" for name in ("requests", "lost", "wrong"))
    return table(["seconds", "loads", "MB", "anonymous MB"], lines) + f"\n{counts}\n"


def soak_failures(found: Mapping[str, Any] | None) -> str:
    """Says what a soak lost or got wrong; "" if nothing, or if there was none."""
    if found is None or not (found["lost"] or found["wrong"]):
        return ""
    return f"{found['lost']} requests lost, {found['wrong']} wrong: {found['complaints'][0]}"


def _ratios(row: Mapping[str, Any]) -> list[str]:
    over_bare = f"{row['over_bare']:.2f}" if "over_bare" in row else ""
    span = f"{row['ratio_low']:.2f}–{row['ratio_high']:.2f}"
    return [f"**{row['ratio']:.2f}**", span, over_bare]


def _reached(is_reached: bool) -> str:
    return "reached" if is_reached else "missed"
