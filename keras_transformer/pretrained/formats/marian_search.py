"""The search that a Marian model is meant for: its `decoder.yml` as fields of `SearchOptions` and
back, and the names of what no search of ours does.
"""

from collections.abc import Mapping
from typing import Any

from keras_transformer.pretrained.values import FileValues

BEAMS, NORMALIZE, LENGTH_FACTOR = "beam-size", "normalize", "max-length-factor"
# What else changes a search there, and the value that changes nothing.
_UNKNOWN: dict[str, Any] = {"word-penalty": 0, "output-sampling": [], "shortlist": []}


def read_search(decoder: FileValues) -> dict[str, Any]:
    """Returns the options of a search that a `decoder.yml` names.

    Marian divides log-probabilities by a power of the length, its end included, if it is told to.
    """
    found: dict[str, Any] = {}
    if BEAMS in decoder.values:
        found["beam_size"] = decoder.integer(BEAMS)
    if NORMALIZE in decoder.values or found.get("beam_size", 1) > 1:
        found["length_penalty"] = decoder.number(NORMALIZE, 0.0)
        found["length_penalty_type"] = "exponent"
    if LENGTH_FACTOR in decoder.values:
        found["max_length_ratio"] = decoder.number(LENGTH_FACTOR)
    return found


def left_out(decoder: FileValues) -> tuple[str, ...]:
    """Returns what a `decoder.yml` says of a search that no option of ours does: "name=value"."""
    return tuple(
        f"{name}={decoder[name]!r}"
        for name, neutral in _UNKNOWN.items()
        if decoder.get(name, None) and decoder[name] != neutral
    )


def write_search(search: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of Marian that say what a run searches with.

    Args:
        search: Fields of `SearchOptions`.
    """
    found: dict[str, Any] = {}
    if "beam_size" in search:
        found[BEAMS] = search["beam_size"]
    if "length_penalty" in search and search.get("length_penalty_type") == "exponent":
        found[NORMALIZE] = search["length_penalty"]
    if search.get("max_length_ratio") is not None:
        found[LENGTH_FACTOR] = search["max_length_ratio"]
    return found
