"""Bodies of requests: compressed ones are read, and all are bounded."""

import asyncio
import gzip
from typing import Any

import pytest

from keras_transformer.serving.errors import ServingError
from keras_transformer.serving.http.exchange import BodyReader

LIMIT = 10_000


def read(body: bytes, encoding: str | None = None) -> bytes:
    """Reads a body that arrives in two pieces."""
    half = len(body) // 2
    messages = iter(
        [
            {"type": "http.request", "body": body[:half], "more_body": True},
            {"type": "http.request", "body": body[half:], "more_body": False},
        ]
    )

    async def receive() -> Any:
        return next(messages)

    headers = [] if encoding is None else [(b"content-encoding", encoding.encode())]
    reader = BodyReader(LIMIT, seconds=30)
    return asyncio.run(reader.read({"type": "http", "headers": headers}, receive))


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip"])
def test_gzip_is_decompressed(encoding: str) -> None:
    text = b"the red dog " * 100
    assert read(gzip.compress(text), encoding) == text
    assert read(gzip.compress(text[:500]) + gzip.compress(text[500:]), encoding) == text


@pytest.mark.parametrize("encoding", [None, "", "identity"])
def test_other_bodies_are_read_as_they_are(encoding: str | None) -> None:
    assert read(b"the red dog", encoding) == b"the red dog"


def test_the_limit_holds_before_and_after_decompression() -> None:
    assert len(read(gzip.compress(bytes(LIMIT)), "gzip")) == LIMIT
    with pytest.raises(
        ServingError, match=f"decompresses to more than the limit of {LIMIT}"
    ) as error:
        read(gzip.compress(bytes(LIMIT + 1)), "gzip")
    assert error.value.http_status == 413
    bomb = gzip.compress(bytes(8_000_000))
    assert len(bomb) < LIMIT
    with pytest.raises(ServingError, match="decompresses to more than"):
        read(bomb, "gzip")
    with pytest.raises(ServingError, match=f"has {LIMIT + 1} bytes") as error:
        read(bytes(LIMIT + 1))
    assert error.value.http_status == 413


@pytest.mark.parametrize("body", [b"{}", gzip.compress(b"red" * 99)[:-4]], ids=["text", "cut"])
def test_a_damaged_gzip_is_refused(body: bytes) -> None:
    with pytest.raises(ServingError, match="the body is not gzip") as error:
        read(body, "gzip")
    assert error.value.http_status == 400


def test_another_encoding_is_refused_by_name() -> None:
    with pytest.raises(ServingError, match="must be gzip or identity, got 'br'") as error:
        read(b"{}", "br")
    assert error.value.http_status == 415


def test_a_server_reads_gzip(server: Any) -> None:
    body = b'{"instances": ["the red dog"]}'
    found = server.predict(gzip.compress(body), headers={"Content-Encoding": "gzip"})
    assert found.status_code == 200, found.text
    assert found.json() == server.predict(body).json()
