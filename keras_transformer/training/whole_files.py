"""Files that are there whole or not at all, and the error where the disk has no room for one."""

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

# No space, a user's quota, a limit on the size of one file.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def write_whole(path: Path, needed_bytes: int) -> Iterator[BinaryIO]:
    """Opens a file that gets its name only when it is complete and on disk.

    Args:
        path: The file; what stands there stays until the new one is complete.
        needed_bytes: About how much will be written, for the message where there is no room.

    Raises:
        OSError: It cannot be written; nothing of it is left.
    """
    partial = path.with_name(path.name + ".partial")
    with clear_disk_errors(path, needed_bytes), remove_on_error(partial):
        with partial.open("w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)


def write_text(path: Path, text: str) -> None:
    """Writes a text file that is there whole or not at all, in UTF-8."""
    data = text.encode("utf-8")
    with write_whole(path, len(data)) as file:
        file.write(data)


@contextmanager
def clear_disk_errors(path: Path, needed_bytes: int) -> Iterator[None]:
    """Makes an error of the system say what was being written and, on a full disk, what to do."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            raise no_room_error(path, cause, needed_bytes) from error
        raise OSError(f"cannot write {path}: {cause}") from error


def no_room_error(path: Path, cause: str, needed_bytes: int) -> OSError:
    """Returns the error that says what did not fit, what is left and what to do."""
    free = shutil.disk_usage(path.parent).free
    return OSError(
        f"cannot write {path}: {cause}. It takes about {_megabytes(needed_bytes)}, free are "
        f"{_megabytes(free)}. The earlier checkpoints are intact: make room, then continue with "
        "--resume."
    )


@contextmanager
def remove_on_error(path: Path) -> Iterator[None]:
    """Leaves no half-written file behind when something fails."""
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
