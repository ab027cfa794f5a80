"""How many cores a process may use: those that its threads may run on, within the CPU quota of its
container, which control groups of both versions set.
"""

import functools
import math
import os
from pathlib import Path

from keras_transformer.control_groups import group_directories, lines

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
    groups = group_directories("cpu", root)
    quotas = [quota for group in groups if (quota := _quota_v2(group) or _quota_v1(group))]
    # Parts of a core in floating point may come out a little too large.
    return max(1, math.ceil(round(min(quotas), 6))) if quotas else None


# Its files take a millisecond, and pools that are open keep their size.
_quota_once = functools.cache(quota_cores)


def _quota_v2(group: Path) -> float | None:
    words = " ".join(lines(group / "cpu.max")).split()
    return _cores(*words) if len(words) == 2 else None


def _quota_v1(group: Path) -> float | None:
    quota, period = (
        "".join(lines(group / f"cpu.cfs_{name}_us")).strip() for name in ("quota", "period")
    )
    return _cores(quota, period)


def _cores(quota: str, period: str) -> float | None:
    """Returns the cores that microseconds of time in each period mean; None for no limit."""
    try:
        cores = int(quota) / int(period)
    except (ValueError, ArithmeticError):  # "max", or no number that a kernel writes.
        return None
    return cores if cores > 0 else None
