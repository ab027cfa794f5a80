"""Files that are whole: written so or not at all, with a clear error if the disk has no room, and
NumPy's archives opened only so.
"""

import errno
import os
import shutil
import stat
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.lib.npyio import NpzFile

# Stands before the name: some writers look at its ending.
_PARTIAL = "partial."
# No space, a user's quota, a limit on the size of one file.
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def whole_file(path: Path, needed_bytes: int | None = None) -> Iterator[Path]:
    """Yields a temporary name to write to; the file is renamed once it is complete and on disk.

    Args:
        path: The file; an existing one stays until the new one is complete. A link stays, and the
            file that it leads to is written. A pipe or a device stays, too: it is given all bytes
            at once.
        needed_bytes: About how much will be written, if known; used in the message if there is
            no room.

    Raises:
        OSError: It cannot be written; no part of it is left.
    """
    with clear_disk_errors(path, needed_bytes):
        if _is_stream(path):
            with tempfile.TemporaryDirectory() as folder:
                partial = Path(folder, path.name)
                yield partial
                with partial.open("rb") as file, path.open("wb") as stream:
                    shutil.copyfileobj(file, stream)
            return
        target = _behind_links(path)
        partial = target.with_name(f"{_PARTIAL}{os.getpid()}.{target.name}")
        try:
            yield partial
            set_usual_modes(partial)
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            os.replace(partial, target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def set_usual_modes(path: Path) -> None:
    """Gives a file, or a directory and all within, the permissions that the umask leaves.

    Some libraries write files for their owner alone, as temporary files are.
    """
    folder = path if path.is_dir() else path.parent
    probe = folder / f"{_PARTIAL}{os.getpid()}.{threading.get_ident()}.mode"
    # Only making a file tells the umask without changing it, which other threads would see.
    probe.touch(exist_ok=False)
    usual = stat.S_IMODE(probe.stat().st_mode)
    probe.unlink()
    for one in (path, *(path.rglob("*") if path.is_dir() else ())):
        if one.is_symlink():
            continue
        # A directory may be entered by whoever may read it, and keeps how it passes on its group.
        entered = (usual & 0o444) >> 2 | one.stat().st_mode & stat.S_ISGID
        one.chmod(usual | entered if one.is_dir() else usual)


def remove_partials(directory: Path) -> None:
    """Deletes the partial files of killed writers in a directory."""
    for path in directory.glob(_PARTIAL + "*"):
        path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file in UTF-8, whole or not at all."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all."""
    with whole_file(path, len(data)) as partial:
        partial.write_bytes(data)


def numpy_archive(path: Path) -> NpzFile:
    """Opens NumPy's archive of arrays, to be closed by `with`.

    Reading objects from it, which may be code, raises `ValueError`.

    Raises:
        OSError: The file cannot be read.
        EOFError, ValueError, zipfile.BadZipFile: It is no such archive, or not whole.
    """
    # NumPy leaves a damaged archive open.
    with zipfile.ZipFile(path):
        archive = np.load(path, allow_pickle=False)
    if not isinstance(archive, NpzFile):
        raise ValueError(f"expected an archive of arrays, got {type(archive).__name__}")
    return archive


def check_output(path: Path, *, is_directory: bool) -> None:
    """Checks, before any work, that a path can be written.

    Args:
        path: What will be written; it may exist, and folders above it may be missing.
        is_directory: Whether that is a directory or a file.

    Raises:
        OSError: Something of the other kind exists there or above it, or writing is not allowed.
    """
    if path.exists() and path.is_dir() != is_directory:
        kind = "a directory" if path.is_dir() else "a file"
        raise OSError(f"cannot write {path}: it is {kind} already, choose another name.")
    if _is_stream(path):
        if not os.access(path, os.W_OK):
            raise OSError(f"cannot write {path}: it may not be written to.")
        return
    folders = [path] if is_directory else []
    nearest = next(f for f in (*folders, *_behind_links(path).parents) if f.exists())
    if not nearest.is_dir():
        raise OSError(f"cannot write {path}: {nearest} is a file.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise OSError(f"cannot write {path}: {nearest} may not be written to.")


@contextmanager
def clear_disk_errors(path: Path, needed_bytes: int | None = None) -> Iterator[None]:
    """Makes a system error say what was being written and, on a full disk, what to do."""
    try:
        yield
    except OSError as error:
        cause = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            raise no_room_error(path, cause, needed_bytes) from error
        raise OSError(f"cannot write {path}: {cause}") from error


def no_room_error(path: Path, cause: str, needed_bytes: int | None = None) -> OSError:
    """Returns the error that says what did not fit, how much room is left and what to do."""
    free = f"Free are {_megabytes(shutil.disk_usage(_behind_links(path).parent).free)}"
    needed = "" if needed_bytes is None else f", it takes about {_megabytes(needed_bytes)}"
    return OSError(
        f"cannot write {path}: {cause}. {free}{needed}. What was complete before is intact: make "
        "room, then give the same command again, a training with --resume."
    )


def _is_stream(path: Path) -> bool:
    """Returns whether something exists that cannot be replaced by a file: a pipe, a device."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _behind_links(path: Path) -> Path:
    """Returns the absolute path that links lead to; unlike `Path.resolve` it takes a loop, too."""
    return Path(os.path.realpath(path))


def _megabytes(count: int) -> str:
    return f"{count / 1e6:,.1f} MB"
