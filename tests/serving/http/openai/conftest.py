"""Servers that OpenAI's client asks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.runtime.generator import OnnxGenerator


@pytest.fixture(scope="session")
def ask() -> Callable[[Any], Any]:
    """`ask(server)`: OpenAI's client of a server."""
    openai = pytest.importorskip("openai", reason="the package openai is not installed")
    return lambda server: openai.OpenAI(
        base_url=f"{server.rest_url}/v1", api_key="-", max_retries=0, timeout=60
    )


@pytest.fixture(scope="session")
def client(ask: Callable[[Any], Any], generating: Any) -> Any:
    """OpenAI's client of a generator."""
    return ask(generating)


@pytest.fixture(scope="module")
def generator(family_artefact: Callable[[Any], Path]) -> Iterator[OnnxGenerator]:
    """The generator itself."""
    with OnnxGenerator(family_artefact("decoder")) as opened:
        yield opened
