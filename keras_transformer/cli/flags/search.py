"""The options of a search on the command line: those that the user gave, then those that the model
was imported with, then the defaults.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.cli.parser import CommandParser, flags_in_errors
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.defaults import search_options, taken
from keras_transformer.search.options import SearchOptions

# The heading of the flags in the help of each command.
TITLE = "search; what is left out is the model's own if it was imported with it, else the default"


def read_search(
    parser: CommandParser, arguments: Sequence[str], directory: Path, *, skip: Sequence[str] = ()
) -> SearchOptions:
    """Returns the options of a search and tells on standard error which of them are the model's.

    Args:
        parser: The command's, with the fields of `SearchOptions`.
        arguments: What was typed.
        directory: An exported artefact or a training run.
        skip: Fields that have no flag.

    Raises:
        TypeError: An option is of the wrong type; the message names its flag.
        ValueError: An option is out of range, or two do not fit.
    """
    own, given = own_search(directory), parser.given(arguments, SearchOptions, skip=skip)
    with flags_in_errors(SearchOptions):
        chosen = search_options(own, given)
    _tell_own(parser.command, own, given)
    return chosen


def own_search(directory: Path) -> dict[str, Any]:
    """Reads what a model was imported with; {} for none. What is damaged is told when it opens."""
    from keras_transformer.artefact.manifest import MANIFEST_FILE, Manifest

    try:
        if (directory / MANIFEST_FILE).is_file():
            return dict(Manifest.read(directory).search)
        return RunDirectory(directory).load_search()
    except (OSError, ValueError):
        return {}


def _tell_own(command: str, own: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Says on standard error which options are the model's own, if there are any."""
    shown = ", ".join(f"{name}={value}" for name, value in taken(own, given).items())
    if shown:
        print(
            f"keras-transformer {command}: the model's own search, which flags replace: {shown}",
            file=sys.stderr,
            flush=True,
        )
