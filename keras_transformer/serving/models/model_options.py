"""The options of one served model: the directory of its versions, the policy that selects them, and
their labels.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

# Names that can stand in a path of the REST API, before a colon and a verb.
_NAME = re.compile(r"[^/:]+")
# Codes such as en and pt_BR.
_PAIR = re.compile(r"([a-zA-Z]{2,3}(?:_[a-zA-Z]+)?)-([a-zA-Z]{2,3}(?:_[a-zA-Z]+)?)")
# The largest number that TensorFlow Serving's protos hold, an int64.
MAX_VERSION = 2**63 - 1


@dataclasses.dataclass(frozen=True)
class VersionPolicy:
    """Which versions of a model are served at once.

    Args:
        most: How many are served, the newest first; None for no limit.
        only: The versions that may be served; None for any.

    Raises:
        ValueError: No version could ever be served.
    """

    most: int | None = 1
    only: frozenset[int] | None = None

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 1:
            raise ValueError(f"at least 1 of the latest versions must be served, got {self.most}.")
        if self.only is not None and not self.only:
            raise ValueError("at least one specific version must be named.")

    @classmethod
    def parse(cls, text: str) -> "VersionPolicy":
        """Reads `latest`, `latest:2`, `all`, or numbers such as `1,2`.

        Raises:
            ValueError: The text is not one of these.
        """
        if text == "all":
            return cls(most=None)
        kind, colon, count = text.partition(":")
        if kind == "latest" and (is_version(count) or not colon):
            return cls(most=int(count or 1))
        numbers = text.split(",")
        if all(map(is_version, numbers)):
            return cls(most=None, only=frozenset(map(int, numbers)))
        raise ValueError(
            f"versions must be latest, latest:N, all, or numbers such as 1,2, got {text!r}."
        )


@dataclasses.dataclass(frozen=True)
class ModelOptions:
    """A model to serve.

    Args:
        name: Its name in requests.
        directory: An artefact, or a directory with one for each version, named by its number.
        policy: Which versions are served. A version with a label is served beside them.
        labels: Numbers of versions by label.

    Raises:
        ValueError: A name cannot stand in a path, or the policy leaves a labelled version out.
    """

    name: str
    directory: Path
    policy: VersionPolicy = VersionPolicy()
    labels: Mapping[str, int] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        check_name("model_name", self.name)
        for label, number in self.labels.items():
            check_name("a version's label", label)
            if self.policy.only is not None and number not in self.policy.only:
                served = ", ".join(map(str, sorted(self.policy.only)))
                raise ValueError(
                    f"the label {label!r} names version {number} of {self.name}, but only "
                    f"{served} are to be served: add it to the versions."
                )


def parse_labels(pairs: Iterable[str]) -> dict[str, int]:
    """Reads labels such as `stable=1`.

    Raises:
        ValueError: A text is not such a pair, or a label names two versions.
    """
    labels: dict[str, int] = {}
    for pair in pairs:
        label, _, number = pair.partition("=")
        if not is_version(number):
            raise ValueError(
                f"version_labels must be LABEL=VERSION, such as stable=1, got {pair!r}."
            )
        if label in labels:
            raise ValueError(f"version_labels names {label!r} twice, got {pair!r}.")
        labels[label] = int(number)
    return labels


class LanguagePair(NamedTuple):
    """The languages of a translator of one pair.

    Attributes:
        model: The model's name; "" for the only one.
        source: The code of the texts' language.
        target: The code of the language that it translates into.
    """

    model: str
    source: str
    target: str


def parse_pairs(texts: Iterable[str]) -> list[LanguagePair]:
    """Reads pairs of languages such as `demo=en-es`, or `en-es` of the only model.

    Raises:
        ValueError: A text is not such a pair, or a model has two.
    """
    pairs: dict[str, LanguagePair] = {}
    for text in texts:
        name, _, codes = text.rpartition("=")
        found = _PAIR.fullmatch(codes)
        if not found or name in pairs:
            raise ValueError(
                "language_pairs must be MODEL=SOURCE-TARGET, such as demo=en-es, one for each "
                f"model, got {text!r}."
            )
        pairs[name] = LanguagePair(name, *found.groups())
    return list(pairs.values())


def check_name(what: str, name: str) -> None:
    """Checks that a name can stand in a path.

    Args:
        what: What it names, for the message.
        name: The name.

    Raises:
        ValueError: It cannot.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"{what} must have neither '/' nor ':', got {name!r}.")


def is_version(text: str) -> bool:
    """Returns whether a text is the number of a version."""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(MAX_VERSION))):
        return False
    return int(text) <= MAX_VERSION
