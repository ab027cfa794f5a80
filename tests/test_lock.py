"""requirements.lock: exact versions with hashes, no registry named, as pyproject.toml allows."""

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from keras_transformer.distribution import DISTRIBUTION

LOCK = Path(__file__).resolve().parents[1] / "requirements.lock"


def pinned() -> dict[str, str]:
    """Returns the locked version of each package."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    pins = [line.removesuffix(" \\") for line in lines if line and line[0] not in " #"]
    return {canonicalize_name(name): version for name, version in (pin.split("==") for pin in pins)}


def test_the_lock_names_no_host_and_no_path() -> None:
    text = LOCK.read_text(encoding="utf-8")
    assert not re.search(r"https?:|://|file:|--index|--extra-index|--find-links|@ ", text)


def test_every_pin_has_a_hash() -> None:
    blocks = re.split(r"\n(?=[a-z0-9])", LOCK.read_text(encoding="utf-8"), flags=re.IGNORECASE)
    bare = [block.split()[0] for block in blocks if "==" in block and "--hash=sha256" not in block]
    assert bare == []


def test_every_requirement_is_locked_within_its_range() -> None:
    versions = pinned()
    for text in metadata.requires(DISTRIBUTION) or []:
        requirement = Requirement(text)
        if requirement.name == DISTRIBUTION:  # an extra that holds another
            continue
        version = versions[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{text} against {version}"
