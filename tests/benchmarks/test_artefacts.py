"""Exports are made once, anew when their makers change, and named only when complete."""

import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from speed import artefacts


@pytest.fixture
def orders(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What would have been made; nothing is."""
    given: list[str] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        given.append(command[-1])
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    return given


def test_only_missing_parts_are_made(orders: list[str], tmp_path: Path) -> None:
    folder = artefacts.size_folder(tmp_path, "mini")
    (folder / "ctranslate2-int8").mkdir(parents=True)
    artefacts.make(folder, ["ctranslate2-int8", "naive"], size="mini")
    assert '"parts": ["naive"]' in orders[0]
    artefacts.make(folder, ["ctranslate2-int8"], size="mini")
    assert len(orders) == 1


def test_exports_by_other_sources_are_removed(orders: list[str], tmp_path: Path) -> None:
    old, other = tmp_path / f"mini-{'0' * 12}", tmp_path / f"tiny-{'0' * 12}"
    old.mkdir()
    other.mkdir()
    artefacts.make(artefacts.size_folder(tmp_path, "mini"), ["naive"], size="mini")
    assert not old.exists()
    assert other.exists()


def test_a_change_of_sources_changes_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = artefacts.size_folder(tmp_path, "mini")
    assert artefacts.size_folder(tmp_path, "mini") == before
    monkeypatch.setattr(artefacts, "_PACKAGES", ("numpy",))
    assert artefacts.size_folder(tmp_path, "mini") != before


def test_another_model_has_another_folder(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "model.keras").write_bytes(b"one")
    before = artefacts.run_folder(tmp_path, run)
    (run / "model.keras").write_bytes(b"two")
    assert artefacts.run_folder(tmp_path, run) != before


def test_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="give the directory of a finished run"):
        artefacts.run_folder(tmp_path, tmp_path)


def test_a_failed_part_leaves_no_directory(tmp_path: Path) -> None:
    part = tmp_path / "part"
    with pytest.raises(RuntimeError, match="broken"), artefacts.whole_directory(part) as directory:
        directory.mkdir()
        raise RuntimeError("broken")
    assert not part.exists()
    with artefacts.whole_directory(part) as directory:
        directory.mkdir()
    assert [path.name for path in tmp_path.iterdir()] == ["part"]


def test_failing_makers_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    with pytest.raises(RuntimeError, match="could not be made"):
        artefacts.make(tmp_path / f"mini-{'0' * 12}", ["naive"], size="mini")
