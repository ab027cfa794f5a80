"""The most memory that a search may hold, of what the machine and its control groups leave."""

from pathlib import Path

from keras_transformer.control_groups import group_directories, lines

# Most bytes of the hypotheses of one sentence, or of a batch, however much memory there is.
MOST_BYTES = 8 << 30
_ROOT = Path("/")


def limit_bytes(root: Path = _ROOT) -> int:
    """Returns the most bytes that a search may hold: half of what is available to the process, on
    the machine and in its control groups, at most `MOST_BYTES`.

    Args:
        root: Where `proc` and the control groups' file systems are.
    """
    known = [_available_bytes(root), *_group_limits(root)]
    return min([MOST_BYTES, *(one // 2 for one in known if one)])


def _available_bytes(root: Path) -> int:
    """Returns the machine's available memory; 0 if unknown."""
    found = (line.split() for line in lines(root / "proc/meminfo"))
    return next((_number(words[1]) for words in found if words[:1] == ["MemAvailable:"]), 0) * 1024


def _group_limits(root: Path) -> list[int]:
    """Returns the memory limits of the process's control groups; 0 for what is no limit."""
    files = ("memory.max", "memory.limit_in_bytes")
    groups = group_directories("memory", root)
    return [_number(" ".join(lines(group / name))) for group in groups for name in files]


def _number(text: str) -> int:
    """Returns a positive number; 0 for another text, as "max" is."""
    try:
        return max(0, int(text))
    except ValueError:
        return 0
