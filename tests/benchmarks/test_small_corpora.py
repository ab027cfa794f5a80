"""The table of small corpora: what is compared with what, and how it is shown."""

from pathlib import Path
from typing import Any

import pytest
from small import report


def result(score: float, metric: str, *, seed: int = 0, **flags: Any) -> dict[str, Any]:
    figures = {"score": score, "updates": 10, "seconds": 1.0}
    return {"row": metric, "metric": metric, "flags": flags, "seed": seed, **figures}


def test_means_of_equally_many_seeds_are_compared() -> None:
    [one] = report.compare(
        [
            *(result(score, "accuracy", seed=seed) for seed, score in enumerate((60.0, 50.0))),
            *(result(score, "accuracy", seed=s, rate=1) for s, score in enumerate((64.0, 56.0))),
            result(70.0, "accuracy", rate=2),
        ]
    )
    assert (one.defaults, one.best, one.tried) == (55.0, 60.0, 2)
    assert one.ratio == pytest.approx(55 / 60)


def test_a_lower_perplexity_is_better() -> None:
    worse, better = (
        report.compare([result(50.0, "perplexity"), result(score, "perplexity", rate=1)])
        for score in (60.0, 40.0)
    )
    assert [(one.best, one.ratio) for one in (*worse, *better)] == [(50.0, 1.0), (40.0, 0.8)]


def test_rows_without_a_search_stand_in_the_table_and_not_in_the_picture(tmp_path: Path) -> None:
    found = report.compare(
        [result(9.0, "BLEU"), result(8.0, "exact match"), result(10.0, "exact match", rate=1)]
    )
    text = report.table(found)
    assert "| BLEU | BLEU | 9.00 | – | – | 0 | 10 | 1 |" in text
    assert "| exact match | exact match | 8.00 | 10.00 | 0.800 | 1 | 10 | 1 |" in text
    report.draw(found, tmp_path / "ratios.svg")
    drawn = (tmp_path / "ratios.svg").read_text("utf-8")
    assert "8.0 of 10.0" in drawn and "BLEU" not in drawn


def test_what_is_nearly_perfect_needs_no_search() -> None:
    [near, short, perplexity] = (
        report.compare([result(score, metric)])
        for score, metric in ((95.0, "accuracy"), (94.9, "accuracy"), (99.0, "perplexity"))
    )
    shown = [one.is_shown_by_ceiling for one in (*near, *short, *perplexity)]
    assert shown == [True, False, False]
    assert "| 95.00 | ≤ 100.00 | ≥ 0.950 | 0 |" in report.table(near)
    assert "| 94.90 | – | – | 0 |" in report.table(short)
