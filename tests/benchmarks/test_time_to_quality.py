"""Minutes to a quality: what a run keeps, how a killed one counts on, and the table."""

import gzip
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from time_to_quality import KeptRounds, Point, main, read_times, table

from keras_transformer import demo_corpus


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few sentences in the files of Multi30k."""
    folder = tmp_path_factory.mktemp("data")
    pairs = demo_corpus(400).train
    for part, lines in (("train", slice(0, 300)), ("val", slice(300, 306))):
        for side, sentences in (("en", pairs.source), ("de", pairs.target)):
            text = "".join(f"{line}\n" for line in sentences[lines])
            (folder / f"{part}.{side}.gz").write_bytes(gzip.compress(text.encode()))
    return folder


@pytest.mark.exhaustive
def test_every_round_is_scored_with_its_minutes(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(data), str(tmp_path), "--vocab-size", "150", "--epochs", "2", "--every", "1"]
    main([*words, "--r-drop", "0", "--optimizer", "muon", "--goals", "0", "100"])
    shown = capsys.readouterr().out
    rows = re.findall(r"^\| ([\d,]+) \| ([\d.]+) \| ([\d.]+) \|$", shown, flags=re.MULTILINE)
    times = read_times(tmp_path / "times.tsv")
    assert [int(step.replace(",", "")) for step, _, _ in rows] == list(times)
    assert float(rows[-1][1]) == pytest.approx(sum(times.values()) / 60, abs=0.06)
    assert "0 BLEU: after" in shown and "100 BLEU: not reached." in shown
    assert len(list((tmp_path / "kept").iterdir())) == 2


def test_a_killed_run_forgets_the_rounds_that_it_makes_again(tmp_path: Path) -> None:
    times = tmp_path / "times.tsv"
    times.write_text("10\t1.50\n20\t2.50\n30\t3.50\n", encoding="utf-8")
    keep = KeptRounds(tmp_path / "checkpoints", tmp_path / "kept", times)
    keep.set_model(SimpleNamespace(optimizer=SimpleNamespace(iterations=20)))
    keep.on_train_begin()
    assert read_times(times) == {10: 1.5, 20: 2.5}


def test_goals_are_reached_at_the_first_such_point() -> None:
    points = [Point(100, 1.0, 30.0), Point(200, 2.0, 36.0), Point(300, 3.0, 35.5)]
    shown = table(points, [35.0, 40.0])
    assert "35 BLEU: after 2 minutes." in shown and "40 BLEU: not reached." in shown


def test_files_that_are_missing_end_it_before_training(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="time_to_quality.py: no such file: .*train.en.gz"):
        main([str(tmp_path), str(tmp_path / "output")])
    assert list(tmp_path.iterdir()) == []
