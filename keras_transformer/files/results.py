"""The translations of a job that is under way, kept on disk so that a killed one goes on."""

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TextIO

from keras_transformer.files.segments import Translation
from keras_transformer.markup.profiles import Profile
from keras_transformer.whole_files import clear_disk_errors

Key = tuple[Profile, str]


class Results:
    """Translations of texts with the spans of a profile; a context that closes their file.

    Args:
        path: File that they are kept in; None for none. What an earlier job left there counts if
            it was the same one.
        job: Says which job it is: model, search and whatever else changes translations.

    Raises:
        ValueError: Another process keeps translations there.
    """

    def __init__(self, path: Path | None = None, job: str = "") -> None:
        self._found: dict[Key, Translation] = {}
        self._path = path
        if path is None:
            return
        head = json.dumps({"job": job})
        with clear_disk_errors(path):
            self._file = _locked(path)
            lines = self._file.read().split("\n")
            if lines[0] == head:
                self._found.update(filter(None, map(_read, lines[1:])))
                # The last line may be torn.
                self._write([""] if lines[-1] else [])
            else:
                self._file.truncate(0)
                self._write([head])

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: Key) -> Translation | None:
        """Returns the translation of a text with the spans of a profile; None if there is none."""
        return self._found.get(key)

    def __getitem__(self, key: Key) -> Translation:
        return self._found[key]

    def add(self, pairs: Iterable[tuple[Key, Translation]]) -> None:
        """Adds translations, and keeps them."""
        new = dict(pairs)
        self._found.update(new)
        if self._path is not None:
            with clear_disk_errors(self._path):
                rows = [[*key, one.text, one.is_doubtful, one.hint] for key, one in new.items()]
                self._write(map(json.dumps, rows))

    def remove(self) -> None:
        """Deletes the file: the job is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Lets others have the file."""
        if self._path is not None:
            self._file.close()

    def __enter__(self) -> "Results":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, lines: Iterable[str]) -> None:
        self._file.writelines(f"{line}\n" for line in lines)
        self._file.flush()


def _locked(path: Path) -> TextIO:
    """Returns a file to read and to add to, which no other process may open so."""
    file = path.open("a+", encoding="utf-8", errors="replace")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise ValueError(
            f"another process writes the same output and holds {path}: wait until it has ended, or "
            "name another output."
        ) from None
    if not _is_at(path, file):
        # Another process has ended, and removed it, since it was opened.
        file.close()
        return _locked(path)
    file.seek(0)
    return file


def _is_at(path: Path, file: TextIO) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _read(line: str) -> tuple[Key, Translation] | None:
    """Returns what a line says; None of one that a kill has torn."""
    try:
        profile, text, translation, is_doubtful, hint = json.loads(line)
        # Keys are texts; a list would be none.
        hash((profile, text))
    except (TypeError, ValueError):
        return None
    return (profile, text), Translation(translation, is_doubtful, hint=hint)
