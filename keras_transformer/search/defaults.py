"""Search options from several sources, merged for translators, commands, exports and the server:
those of the caller first, then those that the model was imported with, then the defaults of
`SearchOptions`.
"""

import functools
from collections.abc import Mapping
from typing import Any

from keras_transformer.search.options import SearchOptions

# A model's own count as soon as samples are wanted, which only a caller decides.
_OF_SAMPLES = ("temperature", "top_k", "top_p")


def with_defaults(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of `SearchOptions` that the caller or the model sets.

    A default of the model gives way where it contradicts what was given: its beams if samples are
    wanted, how it draws samples if none are, its shortest translation if a given limit is lower,
    and the reverse.

    Args:
        own: The model's own defaults; empty unless another toolkit gave it some.
        given: The caller's options.

    Example:
        >>> with_defaults({"beam_size": 4, "min_length": 10}, {"max_length": 8})
        {'beam_size': 4, 'max_length': 8}
    """
    if not own:
        return dict(given)
    kept = {name: value for name, value in own.items() if name not in given}
    unused = ("beam_size",) if given.get("sample") is True else _OF_SAMPLES
    kept = {name: value for name, value in kept.items() if name not in unused}
    shortest, longest = ({**kept, **given}.get(name) for name in ("min_length", "max_length"))
    if isinstance(shortest, int) and isinstance(longest, int) and shortest > longest:
        kept = {name: kept[name] for name in kept if name not in ("min_length", "max_length")}
    return {**kept, **given}


def search_options(own: Mapping[str, Any], given: Mapping[str, Any]) -> SearchOptions:
    """Returns the options of `with_defaults`, checked.

    Raises:
        TypeError: An option is of the wrong type, or an option is unknown.
        ValueError: An option is out of range, or two of them do not match.
    """
    fields = with_defaults(own, given)
    try:
        return _known(**fields)
    except TypeError:  # A list, which no table of known options holds, or an error of its own.
        return SearchOptions(**fields)


@functools.lru_cache(maxsize=64, typed=True)
def _known(**fields: Any) -> SearchOptions:
    """Returns options that were checked before: most calls give the same ones."""
    return SearchOptions(**fields)


def check_defaults(own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a model's own defaults as a dict.

    Raises:
        ValueError: They are not fields of `SearchOptions`, or out of range.
    """
    try:
        for sample in (False, True):
            SearchOptions(**with_defaults(own, {"sample": sample}))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the search options of the imported model are not valid: {error}"
        ) from error
    return dict(own)


def taken(own: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the model's defaults that are in effect, for commands and logs to show."""
    return {name: one for name, one in with_defaults(own, given).items() if name not in given}
