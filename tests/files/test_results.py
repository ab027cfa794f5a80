"""Results of a job that is under way: a killed one goes on, another one begins anew."""

from pathlib import Path

import pytest

from keras_transformer.files.results import Results
from keras_transformer.files.segments import Translation

FIRST, SECOND = ("auto", "a\n"), ("html", "ü")


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """What a job left that was killed while it wrote."""
    results = Results(tmp_path / "kept", "job")
    results.add([(FIRST, Translation("x")), (SECOND, Translation("y", True))])
    with (tmp_path / "kept").open("a") as file:
        file.write('5\n["auto", "to')
    return tmp_path / "kept"


def test_the_same_job_goes_on(kept: Path) -> None:
    results = Results(kept, "job")
    assert (results[FIRST], results[SECOND], len(results)) == (
        Translation("x"),
        Translation("y", True),
        2,
    )
    results.add([(("auto", "c"), Translation("z"))])
    assert len(Results(kept, "job")) == 3


def test_another_job_begins_anew(kept: Path) -> None:
    assert len(Results(kept, "other")) == 0
    assert len(Results(kept, "job")) == 0


def test_what_is_done_is_removed(kept: Path) -> None:
    Results(kept, "job").remove()
    assert not kept.exists()


def test_what_was_translated_is_not_asked_for_again(kept: Path, translated) -> None:
    asked: list[str] = []

    def count(texts, profile):
        asked.extend(texts)
        return [Translation(text) for text in texts]

    translated("a.json", '["a\\n", "b", "b"]', count, results=Results(kept, "job"))
    assert asked == ["b"]
