"""Files are whole or absent, and a disk without room is told in one clear error."""

import errno
import os
import resource
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.whole_files import (
    check_output,
    clear_disk_errors,
    numpy_archive,
    remove_partials,
    whole_file,
    write_text,
)


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """The system refuses to let files grow further, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_text_comes_back(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "größer\n")
    assert (tmp_path / "a.txt").read_bytes() == "größer\n".encode()
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_a_file_appears_when_it_is_complete_and_whoever_may_read_its_directory_reads_it(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.npz"
    with whole_file(path) as partial:
        partial.write_bytes(b"all")
        assert not path.exists()
        assert (partial.parent, partial.suffix) == (tmp_path, ".npz")
    assert path.read_bytes() == b"all"
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_any_failure_keeps_the_old_file_and_leaves_no_part_of_the_new(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), whole_file(path) as partial:
        partial.write_bytes(b"half of it")
        raise KeyboardInterrupt
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.bin", b"old")]


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "a.txt", tmp_path / "link"
    link.symlink_to(target)
    for text in ("new", "newer"):  # of a link to nothing, and to a file
        check_output(link, is_directory=False)
        write_text(link, text)
        assert (link.is_symlink(), target.read_text()) == (True, text)
    assert [path.name for path in target.parent.iterdir()] == ["a.txt"]


def test_a_pipe_stays_and_is_given_all_bytes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    check_output(pipe, is_directory=False)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with whole_file(pipe) as partial, partial.open("wb") as file:
        file.write(b"first, and ")
        file.seek(0, os.SEEK_END)  # as writers do that a pipe would refuse
        file.write(b"second")
    reader.join(timeout=10)
    assert found == [b"first, and second"]
    assert pipe.is_fifo() and [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_pipe_that_may_not_be_written_to_is_refused(tmp_path: Path, monkeypatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    with pytest.raises(OSError, match=r"cannot write .*pipe: it may not be written to"):
        check_output(tmp_path / "pipe", is_directory=False)


def test_a_real_lack_of_room_is_explained_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    message = r"cannot write .*a\.bin: File too large\. Free are .* takes about 2\.0 MB.* --resume"
    with largest_file(100_000), pytest.raises(OSError, match=message):
        with whole_file(path, 2_000_000) as partial:
            partial.write_bytes(bytes(2_000_000))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.bin", b"old")]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_full_quota_ask_for_room(tmp_path: Path, code: int) -> None:
    with pytest.raises(OSError, match=r"Free are [\d,.]+ MB\. .* make room, then .* with --resume"):
        with clear_disk_errors(tmp_path / "a"):
            raise OSError(code, "full")


def test_other_errors_name_the_file_only(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"cannot write .*missing/a\.txt: No such file") as info:
        write_text(tmp_path / "missing" / "a.txt", "x")
    assert "make room" not in str(info.value)


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    with whole_file(tmp_path / "a.txt") as partial:
        left = partial.name
        partial.touch()
    (tmp_path / left).touch()
    remove_partials(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("name", "is_directory", "message"),
    [
        ("file", True, r"cannot write .*file: it is a file already"),
        ("folder", False, r"cannot write .*folder: it is a directory already"),
        ("file/new/one", True, r"cannot write .*one: .*/file is a file"),
        ("file/new", False, r"cannot write .*new: .*/file is a file"),
        ("closed/new", True, r"cannot write .*new: .*/closed may not be written to"),
        ("closed", True, r"cannot write .*closed: .*/closed may not be written to"),
    ],
)
def test_an_output_that_cannot_be_written_is_refused(
    tmp_path: Path, monkeypatch, name: str, is_directory: bool, message: str
) -> None:
    (tmp_path / "file").touch()
    for folder in ("folder", "closed"):
        (tmp_path / folder).mkdir()
    # Permissions do not bind root.
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "closed")
    with pytest.raises(OSError, match=message):
        check_output(tmp_path / name, is_directory=is_directory)


@pytest.mark.parametrize(
    ("name", "is_directory"),
    [("new", True), ("new", False), ("a/b/c", True), ("folder", True), ("file", False)],
)
def test_an_output_may_be_new_or_replaced(tmp_path: Path, name: str, is_directory: bool) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    check_output(tmp_path / name, is_directory=is_directory)
    check_output(Path("new"), is_directory=is_directory)


def test_an_archive_of_arrays_is_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", one=np.arange(3))
    with numpy_archive(tmp_path / "a.npz") as found:
        assert found["one"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("damage", ["cut", "other", "array", "array_and_zip", "empty"])
def test_what_is_no_whole_archive_is_refused_and_closed(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, one=np.arange(300))
    whole = path.read_bytes()
    with (tmp_path / "b.npy").open("wb") as file:
        np.save(file, np.arange(3))
    array = (tmp_path / "b.npy").read_bytes()
    path.write_bytes(
        {
            "cut": whole[:-30],
            "other": b"no archive",
            "array": array,
            "array_and_zip": array + whole,
            "empty": b"",
        }[damage]
    )
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises((ValueError, EOFError, zipfile.BadZipFile)):
        numpy_archive(path)
    assert len(os.listdir("/proc/self/fd")) == before
