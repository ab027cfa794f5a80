"""Damages files again and again and says what their readers did."""

import collections
import random
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from tools.damage.changes import damage, damage_manifest
from tools.damage.readers import (
    answers,
    artefacts,
    ctranslate2_directory,
    import_directories,
    imported_model,
    runs,
    trained_run,
)

Outcome = tuple[str, str]
_SAME, _OTHER, _REFUSED = "same", "other", "refused"


def outcome(read: Callable[[], Any], directory: Path, same: Any) -> Outcome:
    """Reads and says what came of it, and of an error that names no file what it is."""
    try:
        found = read()
    except (ValueError, FileNotFoundError) as error:
        # A subclass of ValueError that Python's own decoder raises names no file.
        if str(directory) in str(error) and not isinstance(error, UnicodeDecodeError):
            return _REFUSED, str(error)
        return f"unnamed {type(error).__name__}", str(error)
    except Exception as error:
        return f"bare {type(error).__name__}", str(error)
    return (_SAME if found == same else _OTHER), ""


def fuzz(
    sources: list[Path],
    read: Callable[[Path], Any],
    count: int,
    seed: int,
    change: Callable[[Path, random.Random], tuple[str, Path, bytes]] = damage,
) -> dict[Outcome, list[str]]:
    """Damages copies of directories in turn.

    Args:
        sources: The directories.
        read: Reads a directory; what it returns is compared.
        count: How many times.
        seed: The same seed damages the same.
        change: Damages a directory, as `damage` does.

    Returns:
        What was done, by outcome.
    """
    rng = random.Random(seed)
    found = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        # Of different kinds, some have the same name.
        places = [Path(folder, one.parent.name, one.name) for one in sources]
        copies = [
            Path(shutil.copytree(one, place)) for one, place in zip(sources, places, strict=True)
        ]
        whole = {path: read(path) for path in copies}
        for number in range(count):
            path = copies[number % len(copies)]
            done, file, before = change(path, rng)
            kind, message = outcome(partial(read, path), path, whole[path])
            file.write_bytes(before)
            is_plain = kind in (_SAME, _OTHER, _REFUSED)
            found[kind, "" if is_plain else message].append(f"{path.name}/{done}")
    return dict(found)


def fuzz_imports(count: int, seed: int, *, build: bool = False) -> dict[Outcome, list[str]]:
    """Damages models of all formats; see `fuzz`."""
    with tempfile.TemporaryDirectory() as folder:
        sources = [*import_directories(), ctranslate2_directory(Path(folder))]
        return fuzz(sources, partial(imported_model, build=build), count, seed)


def fuzz_manifests(count: int, seed: int) -> dict[Outcome, list[str]]:
    """Damages the manifests of artefacts of all families; see `fuzz`."""
    with tempfile.TemporaryDirectory() as folder:
        return fuzz(artefacts(Path(folder)), answers, count, seed, damage_manifest)


def fuzz_runs(count: int, seed: int, *, load: bool = False) -> dict[Outcome, list[str]]:
    """Damages run directories of all families, with their models if they are loaded; see `fuzz`."""
    with tempfile.TemporaryDirectory() as folder:
        made = runs(Path(folder))
        for run in made if not load else ():
            (run / "model.keras").unlink()
        return fuzz(made, partial(trained_run, load=load), count, seed)
