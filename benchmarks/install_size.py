"""Prints what the bare install and each extra weigh on disk, as installed in this environment.

    python benchmarks/install_size.py

A line an extra: how many packages it takes, dependencies included, and their files' size in MB.
"""

from collections.abc import Iterator
from importlib import metadata

from packaging.requirements import Requirement

from keras_transformer.distribution import DISTRIBUTION


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


def megabytes(name: str) -> float:
    """Returns the size of a package's files, as its RECORD lists them."""
    return sum(file.size or 0 for file in metadata.files(name) or []) / 1e6


def main() -> None:
    """Prints the table."""
    for extra in ("", *(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or [])):
        if extra != "dev":
            names = set(needed(DISTRIBUTION, extra, {})) - {DISTRIBUTION}
            size = sum(map(megabytes, names))
            print(f"{extra or 'bare':6} {len(names):4} packages {size:8.0f} MB", flush=True)


if __name__ == "__main__":
    main()
