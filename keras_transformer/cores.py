"""How many cores a process may use: those that its threads may run on, within the CPU quota of its
container, which control groups of both versions set.
"""

import functools
import math
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_ROOT = Path("/")


def available_cores(root: Path = _ROOT) -> int:
    """Returns how many cores this process may use, at least 1; a part of one counts as one.

    The quota is read once.

    Args:
        root: Where `proc` and the control groups' file systems are.
    """
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    quota = _quota_once(root)
    return cores if quota is None else min(cores, quota)


def quota_cores(root: Path = _ROOT) -> int | None:
    """Returns the cores' worth of time that the quota allows, rounded up; None without a quota.

    A group's quota holds for all groups below it, so the smallest up the hierarchy counts. A file
    that cannot be read, or holds no such numbers, sets no quota.

    Args:
        root: As for `available_cores`.
    """
    quotas = [quota for group in _groups(root) if (quota := _quota_v2(group) or _quota_v1(group))]
    # Parts of a core in floating point may come out a little too large.
    return max(1, math.ceil(round(min(quotas), 6))) if quotas else None


# Its files take a millisecond, and pools that are open keep their size.
_quota_once = functools.cache(quota_cores)


def _groups(root: Path) -> Iterator[Path]:
    """Yields the directories of the process's groups that may set a CPU quota, innermost first."""
    mounts = list(_mounts(root))
    for line in _lines(root / "proc/self/cgroup"):
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        kind = "cgroup2" if number == "0" and not controllers else "cpu"
        if kind == "cpu" and "cpu" not in controllers.split(","):
            continue
        for mounted, mount_root, place in mounts:
            if mounted == kind:
                yield from _up(place, _below(path, mount_root))


def _mounts(root: Path) -> Iterator[tuple[str, str, Path]]:
    """Yields the kind of each mounted hierarchy, the group that is its root, and where it is."""
    for line in _lines(root / "proc/self/mountinfo"):
        fields, _, end = line.partition(" - ")
        words, ends = fields.split(), end.split()
        if len(words) < 5 or len(ends) < 3:
            continue
        kind, options = ends[0], ends[-1]
        is_cpu = kind == "cgroup" and "cpu" in options.split(",")
        if is_cpu or kind == "cgroup2":
            place = root / _unescaped(words[4]).lstrip("/")
            yield "cpu" if is_cpu else kind, _unescaped(words[3]), place


def _below(path: str, mount_root: str) -> PurePosixPath:
    """Returns a group's path below a mounted root; a container may see the host's path of it."""
    parts = [part for part in PurePosixPath(path).parts if part not in ("/", "..")]
    roots = [part for part in PurePosixPath(mount_root).parts if part not in ("/", "..")]
    return PurePosixPath(*(parts[len(roots) :] if parts[: len(roots)] == roots else ()))


def _up(place: Path, group: PurePosixPath) -> Iterator[Path]:
    for parent in (group, *group.parents):
        yield place / parent


def _quota_v2(group: Path) -> float | None:
    words = " ".join(_lines(group / "cpu.max")).split()
    return _cores(*words) if len(words) == 2 else None


def _quota_v1(group: Path) -> float | None:
    quota, period = (
        "".join(_lines(group / f"cpu.cfs_{name}_us")).strip() for name in ("quota", "period")
    )
    return _cores(quota, period)


def _cores(quota: str, period: str) -> float | None:
    """Returns the cores that microseconds of time in each period mean; None for no limit."""
    try:
        cores = int(quota) / int(period)
    except (ValueError, ArithmeticError):  # "max", or no number that a kernel writes.
        return None
    return cores if cores > 0 else None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text("utf-8").splitlines()
    except (OSError, ValueError):  # Absent, unreadable, or not text.
        return []


def _unescaped(path: str) -> str:
    r"""Returns a path of mountinfo, which writes a space as `\040`."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), path)
