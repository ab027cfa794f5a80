"""Files of a prepared corpus are there whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives a temporary name to write to; the file gets its own name once it is on disk.

    Args:
        path: the file to write; its directory is there.

    Raises:
        OSError: the disk is full or refuses; nothing of the file is left.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    partial = Path(name)
    try:
        yield partial
        os.fsync(handle)
        # mkstemp makes the file private; a corpus is read by whoever may read its directory.
        os.fchmod(handle, 0o644)
        os.replace(partial, path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OSError(
            f"cannot write {path}: {error.strerror or error}. What is written so far stays: make "
            "room, then give the same command again."
        ) from error
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    finally:
        os.close(handle)
