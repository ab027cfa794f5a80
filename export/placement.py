"""How an artefact gets its name: a directory is written beside its final place and renamed when it
is complete, so that a kill leaves the old artefact, the new one, or none, never half of one.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keras_transformer.whole_files import check_output


@contextmanager
def placed(final: Path, *, mark: str, overwrite: bool) -> Iterator[Path]:
    """Yields a temporary directory beside `final`, which gets that name when the block succeeds.

    The temporary name begins with a dot, so that no server takes it for a version.

    Args:
        final: Absolute name of the artefact; its parents are made where they are missing.
        mark: A file that every artefact of this kind holds: what lacks it is never replaced.
        overwrite: Replace the directory where it exists.

    Raises:
        FileExistsError: `final` exists and `overwrite` is False, or is no artefact.
        OSError: Its parent cannot be made, or may not be written to.
    """
    check_place(final, mark=mark, overwrite=overwrite)
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}."))
    try:
        yield temporary
        _put_in_place(temporary, final)
    finally:
        if temporary.exists():
            shutil.rmtree(temporary)


def check_place(final: Path, *, mark: str, overwrite: bool) -> None:
    """Looks whether an artefact can get its name; arguments and errors are those of `placed`."""
    check_output(final.parent, is_directory=True)
    if not os.path.lexists(final):
        return
    if not overwrite:
        raise FileExistsError(f"{final} exists: choose another directory, or overwrite=True.")
    # Overwriting deletes: never what an export did not write itself.
    if not (final / mark).is_file() and (not final.is_dir() or any(final.iterdir())):
        raise FileExistsError(
            f"{final} exists and holds no {mark}: it is no artefact and will not be replaced; "
            "choose another directory."
        )


def _put_in_place(temporary: Path, final: Path) -> None:
    """Renames the finished artefact; one that stood there before is put aside, then removed."""
    # mkdtemp makes the directory private; an artefact is read by whoever may read its parent.
    temporary.chmod(0o755)
    if not final.exists():
        temporary.rename(final)
        return
    aside = Path(tempfile.mkdtemp(dir=final.parent, prefix=f".{final.name}.old."))
    final.rename(aside / final.name)
    try:
        temporary.rename(final)
    except BaseException:
        (aside / final.name).rename(final)
        aside.rmdir()
        raise
    shutil.rmtree(aside)
