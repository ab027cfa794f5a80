"""The training benchmark's tables and verdicts."""

import pytest
from training import report

ROW = {
    "size": "tiny",
    "peer": "pytorch",
    "precision": "float32",
    "ours": 9000.0,
    "theirs": 3600.0,
    "ratio": 2.5,
    "ours_variant": "XLA on",
    "theirs_variant": "eager",
    "ratio_low": 2.4,
    "ratio_high": 2.6,
}


def test_a_row_shows_rates_variants_and_ratio() -> None:
    line = report.rows_table([ROW]).splitlines()[-1]
    shown = "| tiny | float32 | pytorch | 9,000 | XLA on | 3,600 | eager | **2.50** | 2.40–2.60 |"
    assert line == shown


@pytest.mark.parametrize(
    ("ratio", "end"), [(1.01, "every row): reached."), (1.0, "every row): missed in 1.")]
)
def test_the_verdict_counts_lost_rows(ratio: float, end: str) -> None:
    text = report.verdict([ROW, {**ROW, "peer": "textbook", "ratio": ratio}])
    assert f"2 rows: lowest ratio {ratio:.2f} (tiny, float32, textbook)" in text
    assert text.endswith(end)


@pytest.mark.parametrize(
    ("times", "padding", "reached"), [(20.0, 0.08, 2), (19.9, 0.08, 1), (19.9, 0.081, 0)]
)
def test_the_pipeline_is_held_against_its_aims(times: float, padding: float, reached: int) -> None:
    stream = {"size": "tiny", "segmented": "once", "rate": 1e6, "batches": 90, "shapes": 8}
    text = report.pipeline_notes([{**stream, "times_training": times, "padding_fraction": padding}])
    assert "segmented once: 1,000,000 tokens/s" in text
    assert "8 shapes in 90 batches" in text
    assert text.count("reached") == reached
    assert text.count("missed") == 2 - reached


def test_memory_is_given_for_each_precision_and_way_to_save_it() -> None:
    memory = {"size": "base", "tokens": 4096, "precision": "float32", "saving": "plain"}
    memory |= {"peak_memory": 4_200_000_000, "seconds": 9.87}
    less = {**memory, "saving": "recomputed", "peak_memory": 2_100_000_000}
    text = report.memory_table([memory, less])
    assert "at most 4,096 padded tokens a side" in text
    assert "| base | float32 | plain | 4.20 GB | 9.9 |" in text
    assert "| base | float32 | recomputed | 2.10 GB | 9.9 |" in text
