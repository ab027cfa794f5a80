"""The gRPC services for operators' tools: health (`grpc.health.v1`) and reflection."""

import asyncio
from collections.abc import AsyncIterator

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection
from tensorflow_serving.apis import model_service_pb2, prediction_service_pb2

from keras_transformer.serving.models.service import Service
from keras_transformer.serving.rpc.grpc_exchange import Arrived

_SERVED = (
    prediction_service_pb2.DESCRIPTOR.services_by_name["PredictionService"].full_name,
    model_service_pb2.DESCRIPTOR.services_by_name["ModelService"].full_name,
)
_HEALTH = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
_LOOK_SECONDS = 0.5


def add_operations(server: grpc.aio.Server, service: Service, arrived: Arrived) -> None:
    """Adds health and reflection to a server.

    Args:
        server: The server, which has not started yet.
        service: Answers requests.
        arrived: Counts watching clients, which get a message when the server stops.
    """
    health_pb2_grpc.add_HealthServicer_to_server(_HealthServicer(service, arrived), server)
    names = (*_SERVED, _HEALTH, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)


class _HealthServicer(health_pb2_grpc.HealthServicer):
    """Reports whether a model answers, the same for the server ("") and each of its services."""

    def __init__(self, service: Service, arrived: Arrived) -> None:
        self._service, self._arrived = service, arrived

    async def Check(
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        """Tells the state once."""
        status = self._status(request.service)
        if status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN:
            known = ", ".join(_SERVED)
            message = f"the service is unknown: ask for one of {known}, or for none."
            await context.abort(grpc.StatusCode.NOT_FOUND, message)
        return health_pb2.HealthCheckResponse(status=status)

    async def Watch(
        self, request: health_pb2.HealthCheckRequest, context: grpc.aio.ServicerContext
    ) -> AsyncIterator[health_pb2.HealthCheckResponse]:
        """Tells the state whenever it changes, until the server stops."""
        self._arrived.add(context)
        told = None
        while True:
            status = self._status(request.service)
            if status != told:
                told = status
                yield health_pb2.HealthCheckResponse(status=status)
            if self._service.draining:
                return
            await asyncio.sleep(_LOOK_SECONDS)

    def _status(self, name: str) -> int:
        states = health_pb2.HealthCheckResponse
        if name not in ("", *_SERVED):
            return states.SERVICE_UNKNOWN
        return states.SERVING if self._service.is_ready else states.NOT_SERVING
