"""Checks the API keys of gRPC's clients."""

from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.errors import ServingError
from keras_transformer.serving.journal import UNKNOWN
from keras_transformer.serving.models.service import Service

_HEALTH = "/grpc.health.v1.Health/"


class KeyInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls without a key, except health checks.

    Args:
        keys: The keys.
        service: Counts what is refused.
    """

    def __init__(self, keys: ApiKeys, service: Service) -> None:
        self._keys, self._service = keys, service

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler:
        """Returns what answers a call."""
        handler = await continuation(handler_call_details)
        if handler is None or handler_call_details.method.startswith(_HEALTH):
            return handler
        given = dict(handler_call_details.invocation_metadata).get("authorization", "")
        try:
            with self._service.refusals("grpc", UNKNOWN):
                self._keys.check(given if isinstance(given, bytes) else given.encode())
        except ServingError as error:
            return _refusing(handler, error)
        return handler


def _refusing(handler: grpc.RpcMethodHandler, error: ServingError) -> grpc.RpcMethodHandler:
    """Returns what answers every call of a handler's kind with an error."""

    async def abort(_: Any, context: grpc.aio.ServicerContext) -> None:
        await context.abort(grpc.StatusCode[error.code.name], error.message)

    if handler.request_streaming and handler.response_streaming:
        return grpc.stream_stream_rpc_method_handler(abort)
    return grpc.unary_unary_rpc_method_handler(abort)
