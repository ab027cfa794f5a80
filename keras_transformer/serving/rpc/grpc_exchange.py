"""The wrapper of every gRPC method: it counts requests while they run, and turns errors into the
status of the answer.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

import grpc

from keras_transformer.serving.errors import ServingError
from keras_transformer.serving.models.service import Service

# Of a message as it travels, with escapes, and of one in which each character has four bytes.
_MOST_BYTES, _MOST_CHARACTERS = 4096, 400

_Method = Callable[[Any, Any, grpc.aio.ServicerContext], Awaitable[Any]]


class Arrived:
    """The requests whose message has arrived and whose answer has not been sent yet."""

    def __init__(self) -> None:
        self._count = 0
        self._none_left = asyncio.Event()
        self._none_left.set()

    def add(self, context: grpc.aio.ServicerContext) -> None:
        """Counts a request until it ends, in whatever way."""
        self._count += 1
        self._none_left.clear()
        context.add_done_callback(self._remove)

    async def wait_for_none(self) -> None:
        """Waits until none is left."""
        await self._none_left.wait()

    def _remove(self, _: grpc.aio.ServicerContext) -> None:
        self._count -= 1
        if not self._count:
            self._none_left.set()


def answering(method: _Method) -> _Method:
    """Counts a method's requests, and turns its errors into the status of the answer.

    Args:
        method: Of an object with the attributes `service`, a `Service`, and `arrived`.
    """

    @functools.wraps(method)
    async def answer(self: Any, request: Any, context: grpc.aio.ServicerContext) -> Any:
        self.arrived.add(context)
        try:
            with _counting_the_unexpected(self.service, request.model_spec.name):
                return await method(self, request, context)
        except ServingError as error:
            await context.abort(grpc.StatusCode[error.code.name], _fitting(error.message))

    return answer


def _fitting(message: str) -> str:
    """Returns a message that fits into the trailers of an answer, which clients limit to 8 KiB."""
    return message if len(quote(message)) <= _MOST_BYTES else f"{message[:_MOST_CHARACTERS]}…"


@contextmanager
def _counting_the_unexpected(service: Service, model: str) -> Iterator[None]:
    """Turns an unexpected error into INTERNAL, logged and counted."""
    try:
        yield
    except (ServingError, grpc.aio.AbortError):
        raise
    except Exception:
        with service.refusals("grpc", model):
            raise
