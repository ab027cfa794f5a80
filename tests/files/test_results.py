"""Results of a job that is under way: a killed one goes on, another one begins anew."""

import fcntl
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.files.results import Results
from keras_transformer.files.segments import Translation

FIRST, SECOND = ("auto", "a\n"), ("html", "ü")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """What a job left that was killed while it wrote."""
    with Results(tmp_path / "kept", "job") as results:
        results.add([(FIRST, Translation("x")), (SECOND, Translation("y", True))])
    with (tmp_path / "kept").open("a") as file:
        file.write('5\n[["auto"], "a", "b", false]\n["auto", "to')
    return tmp_path / "kept"


def test_the_same_job_goes_on(kept: Path) -> None:
    with Results(kept, "job") as results:
        found = results[FIRST], results[SECOND], len(results)
        assert found == (Translation("x"), Translation("y", True), 2)
        results.add([(("auto", "c"), Translation("z"))])
    with Results(kept, "job") as results:
        assert len(results) == 3


def test_another_job_begins_anew(kept: Path) -> None:
    for job in ("other", "job"):
        with Results(kept, job) as results:
            assert len(results) == 0


def test_two_jobs_with_one_output_are_not_run_at_once(kept: Path) -> None:
    with (
        Results(kept, "job"),
        pytest.raises(ValueError, match="another process writes the same output and holds"),
    ):
        Results(kept, "other")
    with Results(kept, "job") as results:
        assert len(results) == 2


def test_a_file_that_another_job_just_removed_is_made_anew(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def removed(file: Any, operation: int, lock: Any = fcntl.flock) -> None:
        monkeypatch.undo()
        kept.unlink()
        lock(file, operation)

    monkeypatch.setattr(fcntl, "flock", removed)
    with Results(kept, "job") as results:
        assert len(results) == 0 and kept.exists()


def test_what_is_done_is_removed(kept: Path) -> None:
    with Results(kept, "job") as results:
        results.remove()
    assert not kept.exists()


def test_what_was_translated_is_not_asked_for_again(kept: Path, translated) -> None:
    asked: list[str] = []

    def count(texts, profile):
        asked.extend(texts)
        return [Translation(text) for text in texts]

    with Results(kept, "job") as results:
        translated("a.json", '["a\\n", "b", "b"]', count, results=results)
    assert asked == ["b"]


def test_a_kept_translation_that_says_nothing_is_asked_for_again(
    tmp_path: Path, translated
) -> None:
    with Results(tmp_path / "kept", "job") as results:
        kept = {"a": "", "b %s": "%s", "c": "C"}
        results.add((("auto", text), Translation(one)) for text, one in kept.items())
    with Results(tmp_path / "kept", "job") as results:
        outcome = translated("a.json", '["a", "b %s", "c"]', results=results)
    assert outcome.data == b'["A", "B %s", "C"]'
    with Results(tmp_path / "kept", "job") as results:
        assert [results["auto", text].text for text in kept] == ["A", "B %s", "C"]
