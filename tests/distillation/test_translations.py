"""A teacher's translations in shards: continued, shared and refused."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from keras_transformer.distillation.translations import Translations, check_share, share_of
from keras_transformer.search.options import Hypothesis

SOURCES = [f"line {number}" for number in range(11)] + ["", "a line too long " * 9]
MADE_BY = {"teacher_sha256": "ab", "beam_size": 5, "shard_lines": 4}


class CountingTeacher:
    """Gives two translations that are one text, and a third; is killed before one of its calls."""

    max_source_length = 20

    def __init__(self, killed_at: int | None = None) -> None:
        self.calls = 0
        self._killed_at = killed_at

    def source_lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in texts]

    def translate_n_best(self, texts: Sequence[str], **search: object) -> list[list[Hypothesis]]:
        self.calls += 1
        if self.calls == self._killed_at:
            raise KeyboardInterrupt
        assert search == {"beam_size": 5}
        found = [[text.upper(), text.upper(), f"{text}!"] if text else [""] for text in texts]
        return [[Hypothesis(one, [], 0.0, 0.0) for one in texts] for texts in found]


def job(directory: Path, **changed: object) -> Translations:
    return Translations(directory, SOURCES, {**MADE_BY, **changed}, 4)


def make(translations: Translations, teacher: CountingTeacher, share: str = "1/1") -> list[str]:
    said: list[str] = []
    numbers = share_of(translations.missing(), share)
    translations.make(numbers, teacher, {"beam_size": 5}, said.append)  # type: ignore[arg-type]
    return said


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_a_killed_job_continues_with_the_shards_of_an_unbroken_one(tmp_path: Path) -> None:
    said = make(job(tmp_path / "whole"), CountingTeacher())
    assert said[0] == "translating 13 lines, 4 at a time"
    assert len(said) == 5 and said[1].startswith("shard 1 of 4: 4 of 13 lines, ")
    with pytest.raises(KeyboardInterrupt):
        make(job(tmp_path / "killed"), CountingTeacher(killed_at=3))
    (tmp_path / "killed" / "partial.7.00002-of-00004.json").write_text("[")  # of a SIGKILL
    again = CountingTeacher()
    make(job(tmp_path / "killed"), again)
    assert again.calls == 2
    assert content(tmp_path / "killed") == content(tmp_path / "whole")
    found = job(tmp_path / "killed").read()
    assert found[:2] == [["LINE 0", "line 0!"], ["LINE 1", "line 1!"]]
    assert found[11:] == [[], []]  # without words; too long for the teacher


def test_processes_that_share_the_shards_make_all_of_them(tmp_path: Path) -> None:
    make(job(tmp_path / "whole"), CountingTeacher())
    for share in ("2/3", "3/3", "1/3"):
        make(job(tmp_path / "shared"), CountingTeacher(), share)
    assert content(tmp_path / "shared") == content(tmp_path / "whole")
    for wrong in ("0/3", "4/3", "2", "a/b", "/2"):
        with pytest.raises(ValueError, match=r"shard must be I/N .* got '"):
            check_share(wrong)


def test_shards_of_another_job_are_refused(tmp_path: Path) -> None:
    make(job(tmp_path), CountingTeacher())
    with pytest.raises(ValueError, match=r"00000-of-00004.json was made with beam_size=5, not 4"):
        job(tmp_path, beam_size=4).missing()
    (tmp_path / "00001-of-00004.json").write_text("{")
    with pytest.raises(ValueError, match="00001-of-00004.json is damaged .* delete it"):
        job(tmp_path).missing()


@pytest.mark.parametrize(
    "translations",
    [
        [["a"]] * 3,
        [["a"]] * 5,
        ["text"] * 4,
        [[None]] * 4,
        None,
    ],
    ids=["fewer", "more", "no lists", "no texts", "null"],
)
def test_a_shard_that_does_not_hold_texts_of_its_lines_is_damaged(
    tmp_path: Path, translations: object
) -> None:
    make(job(tmp_path), CountingTeacher())
    path = tmp_path / "00001-of-00004.json"
    path.write_text(json.dumps({"made_by": MADE_BY, "translations": translations}))
    with pytest.raises(ValueError, match="00001-of-00004.json is damaged .*4 lines.*delete it"):
        job(tmp_path).missing()


@pytest.mark.parametrize("made_by", [[1], None, "text"], ids=str)
def test_a_shard_that_does_not_say_what_made_it_is_damaged(tmp_path: Path, made_by: object) -> None:
    make(job(tmp_path), CountingTeacher())
    path = tmp_path / "00001-of-00004.json"
    path.write_text(json.dumps({"made_by": made_by, "translations": [[]] * 4}))
    with pytest.raises(ValueError, match="00001-of-00004.json is damaged .*delete it"):
        job(tmp_path).missing()
