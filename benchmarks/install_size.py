"""Prints what the bare install and each extra weigh on disk, as installed in this environment.

    python benchmarks/install_size.py

A line an extra: how many packages it takes, dependencies included, and their files' size in MB,
without this package and without bytecode. The last line is the bare install with both.
"""

import marshal
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement

from keras_transformer.distribution import DISTRIBUTION

# Files of a checkout that no wheel holds: sources of the operators, and bytecode.
NOT_INSTALLED = {".cc", ".h", ".pyc"}
PYC_HEADER = 16  # bytes


def needed(name: str, extra: str, seen: dict[tuple[str, str], None]) -> Iterator[str]:
    """Yields the names of the installed packages that a package with an extra needs."""
    if (name, extra) in seen:
        return
    seen[name, extra] = None
    yield metadata.distribution(name).metadata["Name"]
    for text in metadata.requires(name) or []:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
            for wanted in ("", *requirement.extras):
                yield from needed(requirement.name, wanted, seen)


@cache
def megabytes(name: str) -> float:
    """Returns the size of a package's files, as its RECORD lists them."""
    return sum(file.size or 0 for file in metadata.files(name) or []) / 1e6


def files(name: str) -> set[Path]:
    """Returns a package's files without bytecode: those of its RECORD, or of this checkout."""
    if name == DISTRIBUTION:
        specs = map(find_spec, ("keras_transformer", "keras_transformer.export"))
        folders = [Path(path) for spec in specs for path in spec.submodule_search_locations or []]
        found = [file.resolve() for folder in folders for file in folder.rglob("*")]
    else:
        found = [Path(str(file.locate())) for file in metadata.files(name) or []]
    return {file for file in found if file.is_file() and file.suffix not in NOT_INSTALLED}


def bytecode(file: Path) -> int:
    """Returns how many bytes the compiled form of a module takes."""
    return PYC_HEADER + len(marshal.dumps(compile(file.read_bytes(), str(file), "exec")))


def compiled_megabytes(name: str) -> float:
    """Returns the size of a package's files and of the bytecode that pip compiles of them."""
    found = files(name)
    modules = (file for file in found if file.suffix == ".py")
    return (sum(file.stat().st_size for file in found) + sum(map(bytecode, modules))) / 1e6


def main() -> None:
    """Prints the table."""
    for extra in ("", *(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or [])):
        if extra != "dev":
            names = set(needed(DISTRIBUTION, extra, {})) - {DISTRIBUTION}
            size = sum(map(megabytes, names))
            print(f"{extra or 'bare':6} {len(names):4} packages {size:8.0f} MB", flush=True)
    size = sum(map(compiled_megabytes, set(needed(DISTRIBUTION, "", {}))))
    print(f"bare with this package and bytecode: {size:.0f} MB")


if __name__ == "__main__":
    main()
