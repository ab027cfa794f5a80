"""The search options of a command: flags first, then the defaults that the model was imported with,
then those of the package.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.cli.parser import CommandParser, flags_in_errors
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.keywords import search_options, taken
from keras_transformer.search.options import SearchOptions

# The heading of the flags in the help of each command.
TITLE = "search (the defaults are those that the model was imported with, if any, else those shown)"


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
    """Reads the search options that a model was imported with; {} for none.

    Damage is reported when the model opens.
    """
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
            f"keras-transformer {command}: search options of the imported model, which flags "
            f"override: {shown}",
            file=sys.stderr,
            flush=True,
        )
