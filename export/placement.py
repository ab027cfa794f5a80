"""Atomic writing of artefacts: to a temporary directory beside the final name, renamed when
complete. A killed export leaves the old artefact unchanged.
"""

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keras_transformer.whole_files import check_output, set_usual_modes

# How a rename fails if the name was taken meanwhile: a directory that is not empty, or a file.
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)


@contextmanager
def placed(final: Path, *, mark: str, overwrite: bool) -> Iterator[Path]:
    """Yields a temporary directory beside `final`, which gets that name when the block succeeds.

    The temporary name begins with a dot, so that no server takes it for a version.

    Args:
        final: Absolute name of the artefact; missing parents are made.
        mark: A file that every artefact of this kind holds: a directory without it is never
            replaced.
        overwrite: Replace the directory if it exists.

    Raises:
        FileExistsError: `final` exists and `overwrite` is False, or it is not an artefact; also if
            it appeared while the block ran.
        OSError: Its parent cannot be made, or may not be written to.
    """
    check_place(final, mark=mark, overwrite=overwrite)
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}."))
    try:
        yield temporary
        _put_in_place(temporary, final, mark=mark, overwrite=overwrite)
    finally:
        if temporary.exists():
            shutil.rmtree(temporary)


def check_place(final: Path, *, mark: str, overwrite: bool) -> None:
    """Checks that an artefact can get its name; arguments and errors are those of `placed`."""
    check_output(final.parent, is_directory=True)
    if not os.path.lexists(final):
        return
    if not overwrite:
        raise FileExistsError(f"{final} exists: choose another directory, or overwrite=True.")
    # Overwriting deletes: only a directory that an export has written.
    if not (final / mark).is_file() and (not final.is_dir() or any(final.iterdir())):
        raise FileExistsError(
            f"{final} exists but holds no {mark}, so it is not an artefact and is not replaced: "
            "choose another directory."
        )


def _put_in_place(temporary: Path, final: Path, *, mark: str, overwrite: bool) -> None:
    """Renames the finished artefact; an earlier one is first put aside, then removed."""
    set_usual_modes(temporary)
    while True:
        # Again: much may have happened since the export began.
        check_place(final, mark=mark, overwrite=overwrite)
        aside = _put_aside(final) if overwrite else None
        try:
            temporary.rename(final)
        except BaseException as error:
            if aside is not None:
                _put_back(aside, final)
            if not isinstance(error, OSError) or error.errno not in _TAKEN:
                raise
            continue  # Another process took the name: what it wrote is checked in its turn.
        if aside is not None:
            shutil.rmtree(aside)
        return


def _put_aside(final: Path) -> Path | None:
    """Moves an earlier artefact aside and returns the directory it is in; None if there is none.

    Processes that overwrite the same artefact may take it from each other.
    """
    if not os.path.lexists(final):
        return None
    aside = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}.old."))
    try:
        final.rename(aside / final.name)
    except OSError as error:
        aside.rmdir()
        if isinstance(error, FileNotFoundError):
            return None
        raise
    return aside


def _put_back(aside: Path, final: Path) -> None:
    """Gives an earlier artefact its name again; removes it if another has taken its place."""
    try:
        (aside / final.name).rename(final)
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
    shutil.rmtree(aside)
