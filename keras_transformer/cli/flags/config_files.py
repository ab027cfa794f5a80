"""The files of `--config` on a command line. A key that is given twice is refused, since YAML's
reader would silently keep the last.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

FLAG = "--config"


def config_files(arguments: Sequence[str]) -> Iterator[str]:
    """Yields the files given with `--config`."""
    for position, argument in enumerate(arguments):
        flag, equals, value = argument.partition("=")
        if flag == FLAG and (equals or position + 1 < len(arguments)):
            yield value if equals else arguments[position + 1]


def refuse_double_keys(path: Path) -> None:
    """Checks a file that the parser is about to read, and leaves all other mistakes to it.

    Raises:
        ValueError: A key is given twice; the message names it and both lines.
    """
    import yaml

    try:
        root = yaml.compose(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
        if not isinstance(node, yaml.MappingNode):
            continue
        seen: dict[str, int] = {}
        for key, value in node.value:
            line, name = key.start_mark.line + 1, str(key.value)
            if name in seen:
                raise ValueError(
                    f"{FLAG} {path} gives {name} twice, in lines {seen[name]} and {line}: leave "
                    "one of them out."
                )
            seen[name] = line
            nodes.append(value)
