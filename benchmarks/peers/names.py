"""Names of engines with a number of threads, such as "openvino × 2", and rates by engine."""

from collections.abc import Mapping

from speed.cells import SPLIT

CTRANSLATE2 = "ctranslate2"


def peer_name(library: str, threads: int) -> str:
    """Names an engine with some threads."""
    return f"{library} × {threads}"


def library_of(name: str) -> str:
    """Returns whose engine a name of `peer_name` names; `SPLIT` is CTranslate2's."""
    return CTRANSLATE2 if name == SPLIT else name.rpartition(" × ")[0]


def fastest(rates: Mapping[str, float], library: str) -> float | None:
    """Returns the highest rate of a library's engines; None if it has none."""
    return max((rate for name, rate in rates.items() if library_of(name) == library), default=None)
