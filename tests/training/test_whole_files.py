"""Files are whole or absent, and a disk without room is told in one clear error."""

import errno
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from keras_transformer.training.whole_files import clear_disk_errors, write_text, write_whole


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


def test_any_failure_keeps_the_old_file_and_leaves_no_part_of_the_new(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), write_whole(path, 10) as file:
        file.write(b"half of it")
        file.flush()
        raise KeyboardInterrupt
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.bin", b"old")]


def test_a_real_lack_of_room_is_explained_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    message = r"cannot write .*a\.bin: File too large\. It takes about 2\.0 MB, .* --resume"
    with largest_file(100_000), pytest.raises(OSError, match=message):
        with write_whole(path, 2_000_000) as file:
            file.write(bytes(2_000_000))
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.bin", b"old")]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_full_quota_ask_for_room(tmp_path: Path, code: int) -> None:
    with pytest.raises(OSError, match="make room, then continue with --resume"):
        with clear_disk_errors(tmp_path / "a", 10):
            raise OSError(code, "full")


def test_other_errors_name_the_file_only(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"cannot write .*missing/a\.txt: No such file") as info:
        write_text(tmp_path / "missing" / "a.txt", "x")
    assert "make room" not in str(info.value)
