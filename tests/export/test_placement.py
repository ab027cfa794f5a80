"""Artefacts get their names whole, and replace nothing that an export has not written."""

import errno
import os
from pathlib import Path

import pytest

from keras_transformer.export.placement import placed


def put(final: Path, text: str, *, overwrite: bool = True) -> None:
    with placed(final, mark="m", overwrite=overwrite) as temporary:
        (temporary / "m").write_text(text)


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_appeared_while_the_artefact_was_written_stays(
    tmp_path: Path, overwrite: bool
) -> None:
    final = tmp_path / "a"
    with (
        pytest.raises(FileExistsError, match="a exists"),
        placed(final, mark="m", overwrite=overwrite) as temporary,
    ):
        (temporary / "m").write_text("x")
        final.mkdir()
        (final / "thesis.txt").write_text("years of work")
    assert (final / "thesis.txt").read_text() == "years of work"
    assert os.listdir(tmp_path) == ["a"]


def test_an_artefact_that_appeared_is_replaced_only_when_asked(tmp_path: Path) -> None:
    final = tmp_path / "a"
    with placed(final, mark="m", overwrite=True) as temporary:
        (temporary / "m").write_text("later")
        put(final, "earlier")
    assert (final / "m").read_text() == "later"
    with (
        pytest.raises(FileExistsError, match="b exists: choose another directory, or overwrite"),
        placed(tmp_path / "b", mark="m", overwrite=False),
    ):
        put(tmp_path / "b", "first", overwrite=False)
    assert (tmp_path / "b" / "m").read_text() == "first"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.fixture
def before_rename(monkeypatch: pytest.MonkeyPatch):
    """Does something once just before an artefact is renamed to a name."""

    def arrange(final: Path, act) -> None:
        rename, acts = Path.rename, [act]

        def renamed(path: Path, target: Path) -> Path:
            if target == final and acts:
                acts.pop()()
            return rename(path, target)

        monkeypatch.setattr(Path, "rename", renamed)

    return arrange


@pytest.mark.parametrize("first", ["an old one", None])
def test_processes_that_overwrite_each_other_leave_the_last_artefact(
    tmp_path: Path, before_rename, first: str | None
) -> None:
    final = tmp_path / "a"
    if first is not None:
        put(final, first)
    before_rename(final, lambda: put(final, "another's"))
    put(final, "mine")
    assert (final / "m").read_text() == "mine"
    assert os.listdir(tmp_path) == ["a"]


def test_a_name_that_is_taken_in_the_last_moment_is_not_replaced(
    tmp_path: Path, before_rename
) -> None:
    final = tmp_path / "a"
    before_rename(final, lambda: put(final, "another's"))
    with pytest.raises(FileExistsError, match="a exists"):
        put(final, "mine", overwrite=False)
    assert (final / "m").read_text() == "another's"
    assert os.listdir(tmp_path) == ["a"]


def test_an_artefact_that_cannot_be_replaced_gets_its_name_back(
    tmp_path: Path, before_rename
) -> None:
    def fail() -> None:
        raise OSError(errno.EIO, "the disk is broken")

    final = tmp_path / "a"
    put(final, "old")
    before_rename(final, fail)
    with pytest.raises(OSError, match="the disk is broken"):
        put(final, "new")
    assert (final / "m").read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]
