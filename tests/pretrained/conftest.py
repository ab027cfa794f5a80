"""Models that others made, with what theirs computed: `make oracles` writes them."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keras_transformer.models.families import AnyModel
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.text.tokenizer import Tokenizer

FOLDER = Path(__file__).parents[1] / "fixtures" / "translators"
NAMES = tuple(sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))


class Given(NamedTuple):
    """A directory that was read, and its references."""

    path: Path
    model: AnyModel
    source: Tokenizer
    target: Tokenizer
    reference: dict[str, Any]

    @property
    def limits(self) -> dict[str, Any]:
        """The options of a search that ends where theirs did."""
        limits = {"length_penalty": 0.0, "early_stopping": "exact", "min_length": 0}
        if "max_length" in self.reference:
            return {**limits, "max_length": self.reference["max_length"]}
        return {**limits, "max_length": 1_000, "max_length_ratio": 3.0}


@pytest.fixture(scope="session")
def translators() -> Path:
    """The folder of the directories."""
    return FOLDER


@pytest.fixture(scope="module", params=NAMES)
def given(request: pytest.FixtureRequest) -> Given:
    """Each directory in turn."""
    path = FOLDER / request.param
    reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
    imported = read_pretrained(path).between(None, reference.get("target_language"))
    return Given(path, imported.build(), *imported.tokenizers, reference)
