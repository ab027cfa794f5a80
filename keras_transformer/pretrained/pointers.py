"""Files that stand for others: what `git clone` leaves of large files where Git LFS is missing."""

from pathlib import Path

from keras_transformer.pretrained.errors import ImportRefusedError

_BEGINS = b"version https://git-lfs"


def refuse_pointer(path: Path) -> None:
    """Checks a file before it is read.

    Raises:
        ImportRefusedError: It is a pointer of Git LFS; the message says how to get the file.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        if file.read(len(_BEGINS)) == _BEGINS:
            raise ImportRefusedError(
                f"{path} is a pointer of Git LFS, not the file itself: run `git lfs install` and "
                f"`git lfs pull` in {path.parent}, or copy the file there."
            )
