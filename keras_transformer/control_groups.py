"""The control groups of this process (cgroups), of both versions, which limit its resources."""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_UNIFIED = "cgroup2"


def group_directories(controller: str, root: Path) -> Iterator[Path]:
    """Yields the directories of the groups that may limit this process, innermost first.

    A group's limit holds for all groups below it, so that the smallest one counts. A container may
    see its path on the host, or another one: where it is not found, the mounted root counts.

    Args:
        controller: What is limited, as version 1 names its hierarchies: "cpu" or "memory".
        root: Where `proc` and the control groups' file systems are.
    """
    mounts = list(_mounts(controller, root))
    for line in lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        kind = _UNIFIED if number == "0" and not controllers else controller
        if kind == controller and controller not in controllers.split(","):
            continue
        for mounted, mount_root, place in mounts:
            if mounted == kind:
                yield from _up(place, _below(path, mount_root))


def lines(file: Path) -> list[str]:
    """Returns a file's lines; none if it is absent, unreadable, or not text."""
    try:
        return file.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return []


def _mounts(controller: str, root: Path) -> Iterator[tuple[str, str, Path]]:
    """Yields the kind of each mounted hierarchy, the group that is its root, and where it is."""
    for line in lines(root / "proc/self/mountinfo"):
        fields, _, end = line.partition(" - ")
        words, ends = fields.split(), end.split()
        if len(words) < 5 or len(ends) < 3:
            continue
        kind, options = ends[0], ends[-1]
        is_own = kind == "cgroup" and controller in options.split(",")
        if is_own or kind == _UNIFIED:
            place = root / _unescaped(words[4]).lstrip("/")
            yield controller if is_own else kind, _unescaped(words[3]), place


def _below(path: str, mount_root: str) -> PurePosixPath:
    """Returns a group's path below a mounted root; a container may see the host's path of it."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    roots = [part for part in PurePosixPath(mount_root).parts if part not in ("/", "..")]
    return PurePosixPath(*(parts[len(roots) :] if parts[: len(roots)] == roots else ()))


def _up(place: Path, group: PurePosixPath) -> Iterator[Path]:
    for parent in (group, *group.parents):
        yield place / parent


def _unescaped(path: str) -> str:
    r"""Returns a path of mountinfo, which writes a space as `\040`."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)
