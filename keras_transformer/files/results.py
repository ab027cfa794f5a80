"""The translations of a job that is under way, kept on disk so that a killed one goes on."""

import json
from collections.abc import Iterable
from pathlib import Path

from keras_transformer.files.segments import Translation
from keras_transformer.markup.profiles import Profile
from keras_transformer.whole_files import clear_disk_errors

Key = tuple[Profile, str]


class Results:
    """Translations of texts with the spans of a profile.

    Args:
        path: File that they are kept in; None for none. What an earlier job left there counts if
            it was the same one.
        job: Says which job it is: model, search and whatever else changes translations.
    """

    def __init__(self, path: Path | None = None, job: str = "") -> None:
        self._found: dict[Key, Translation] = {}
        self._path, self._head = path, json.dumps({"job": job})
        if path is None:
            return
        with clear_disk_errors(path):
            lines = path.read_text("utf-8", "replace").split("\n") if path.exists() else []
            if lines[:1] == [self._head]:
                self._found.update(filter(None, map(_read, lines[1:])))
            else:
                lines = []
            # The last line may be torn.
            self._write(self._head if not lines else "" if lines[-1] else None)

    def __len__(self) -> int:
        return len(self._found)

    def __contains__(self, key: Key) -> bool:
        return key in self._found

    def __getitem__(self, key: Key) -> Translation:
        return self._found[key]

    def add(self, pairs: Iterable[tuple[Key, Translation]]) -> None:
        """Adds translations, and keeps them."""
        new = dict(pairs)
        self._found.update(new)
        if new and self._path is not None:
            with clear_disk_errors(self._path):
                rows = [[*key, one.text, one.is_doubtful] for key, one in new.items()]
                self._write("\n".join(map(json.dumps, rows)))

    def remove(self) -> None:
        """Deletes the file: the job is done."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _write(self, lines: str | None) -> None:
        if self._path is not None and lines is not None:
            is_new = lines == self._head
            with self._path.open("w" if is_new else "a", encoding="utf-8") as file:
                file.write(lines + "\n")


def _read(line: str) -> tuple[Key, Translation] | None:
    """Returns what a line says; None of one that a kill has torn."""
    try:
        profile, text, translation, is_doubtful = json.loads(line)
    except (TypeError, ValueError):
        return None
    return (profile, text), Translation(translation, is_doubtful)
