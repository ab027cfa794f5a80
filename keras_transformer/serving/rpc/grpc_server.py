"""TensorFlow Serving's gRPC interface, PredictionService and ModelService, answered by the
`Service` that answers REST. Its protos lie in TensorFlow's package: see `bare_tensorflow`.
"""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any, get_args

import grpc
from google.protobuf.wrappers_pb2 import Int64Value
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from keras_transformer.artefact.signatures import Signature
from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models.judgements import Judgement, judge
from keras_transformer.serving.models.outputs import written
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.models.versioning.versions import Asked, LoadedVersion
from keras_transformer.serving.rpc.examples import example_texts
from keras_transformer.serving.rpc.grpc_exchange import Arrived, answering
from keras_transformer.serving.rpc.grpc_keys import KeyInterceptor
from keras_transformer.serving.rpc.grpc_metadata import metadata_of
from keras_transformer.serving.rpc.grpc_operations import add_operations
from keras_transformer.serving.rpc.grpc_tensors import to_array, to_proto
from keras_transformer.serving.settings import ServeOptions


@dataclasses.dataclass(frozen=True)
class GrpcServer:
    """A gRPC server that listens.

    Attributes:
        port: The port it listens on, also if it picked a free one.
    """

    port: int
    _server: grpc.aio.Server
    _arrived: Arrived

    async def stop(self, grace: float, parting: float) -> None:
        """Accepts no more requests, gives accepted ones `grace` seconds, then cancels them.

        Requests whose message has not arrived completely get `parting` seconds, or longer while
        others are running, so that a stalled client does not hold up the server.
        """
        stopping = asyncio.create_task(self._server.stop(grace))
        await asyncio.wait({stopping}, timeout=parting)
        none_left = asyncio.create_task(self._arrived.wait_for_none())
        await asyncio.wait({stopping, none_left}, return_when=asyncio.FIRST_COMPLETED)
        none_left.cancel()
        if stopping.done():
            await stopping
        else:
            stopping.cancel()
            await self._server.stop(None)


async def start_grpc(
    service: Service, options: ServeOptions, keys: ApiKeys | None = None
) -> GrpcServer:
    """Starts to answer gRPC in the running event loop.

    Args:
        service: Answers requests.
        options: Their `host`, `grpc_port` (0 takes a free one) and `max_body_bytes`, the largest
            message that may come.
        keys: The keys that clients need; None if they need none.

    Raises:
        OSError: The address cannot be listened on.
    """
    server = grpc.aio.server(
        interceptors=[] if keys is None else [KeyInterceptor(keys, service)],
        options=[
            ("grpc.max_receive_message_length", options.max_body_bytes),
            ("grpc.max_send_message_length", -1),
            # Else a second server on the same port would get a share of the requests.
            ("grpc.so_reuseport", 0),
        ],
    )
    arrived = Arrived()
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        _PredictionServicer(service, arrived, options.max_body_bytes), server
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(
        _ModelServicer(service, arrived), server
    )
    add_operations(server, service, arrived)
    host = f"[{options.host}]" if ":" in options.host else options.host
    address = f"{host}:{options.grpc_port}"
    try:
        port = server.add_insecure_port(address)
    except RuntimeError as error:
        raise OSError(f"gRPC cannot listen on {address}: {error}") from error
    await server.start()
    return GrpcServer(port, server, arrived)


class _PredictionServicer(prediction_service_pb2_grpc.PredictionServiceServicer):
    """All methods but MultiInference."""

    def __init__(self, service: Service, arrived: Arrived, max_elements: int) -> None:
        self.service, self.arrived = service, arrived
        self._max_elements = max_elements

    @answering
    async def Predict(
        self, request: predict_pb2.PredictRequest, context: grpc.aio.ServicerContext
    ) -> predict_pb2.PredictResponse:
        """Runs a signature; the client's deadline is the request's."""
        with self.service.refusals("grpc", request.model_spec.name):
            loaded = self.service.find(*_model(request))
            signature = loaded.signature(request.model_spec.signature_name)
            wanted = _wanted_outputs(request.output_filter, signature)
            inputs = {
                key: to_array(value, key, self._max_elements)
                for key, value in request.inputs.items()
            }
        outputs = await self.service.predict(
            loaded,
            signature,
            inputs,
            timeout=context.time_remaining(),
            protocol="grpc",
        )
        protos = await written(outputs, lambda: {key: to_proto(outputs[key]) for key in wanted})
        return predict_pb2.PredictResponse(outputs=protos, model_spec=_spec(loaded, signature.name))

    @answering
    async def GetModelMetadata(
        self,
        request: get_model_metadata_pb2.GetModelMetadataRequest,
        context: grpc.aio.ServicerContext,
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        """Describes the signatures, and the graphs that run."""
        name, asked = _model(request)
        loaded = self.service.find(name, asked)
        response = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=_spec(loaded))
        for field, found in metadata_of(loaded.model, request.metadata_field).items():
            response.metadata[field].Pack(found)
        return response

    @answering
    async def Classify(
        self,
        request: classification_pb2.ClassificationRequest,
        context: grpc.aio.ServicerContext,
    ) -> classification_pb2.ClassificationResponse:
        """Returns the probability of every label for each example's text."""
        loaded, results = await self._judge("classify", request, context)
        response = classification_pb2.ClassificationResponse(model_spec=_spec(loaded, "classify"))
        for pairs in results:
            classes = response.result.classifications.add().classes
            for label, score in pairs:
                classes.add(label=label, score=score)
        return response

    @answering
    async def Regress(
        self, request: regression_pb2.RegressionRequest, context: grpc.aio.ServicerContext
    ) -> regression_pb2.RegressionResponse:
        """Returns a number for each example's text."""
        loaded, results = await self._judge("regress", request, context)
        response = regression_pb2.RegressionResponse(model_spec=_spec(loaded, "regress"))
        for value in results:
            response.result.regressions.add(value=value)
        return response

    async def _judge(
        self, kind: Judgement, request: Any, context: grpc.aio.ServicerContext
    ) -> tuple[LoadedVersion, list[Any]]:
        if not any(kind in signatures for signatures in self.service.kinds()):
            await _refuse(self.service, context, kind.title())
        with self.service.refusals("grpc", request.model_spec.name):
            loaded = self.service.find(*_model(request))
            texts = example_texts(request.input)
        name, left = request.model_spec.signature_name, context.time_remaining()
        options = {"timeout": left, "protocol": "grpc"}
        return loaded, await judge(self.service, loaded, kind, texts, name, **options)

    async def MultiInference(self, request: Any, context: grpc.aio.ServicerContext) -> None:
        """Refuses."""
        await _refuse(self.service, context, "MultiInference")


class _ModelServicer(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus; the models themselves are chosen when the server starts."""

    def __init__(self, service: Service, arrived: Arrived) -> None:
        self.service, self.arrived = service, arrived

    @answering
    async def GetModelStatus(
        self,
        request: get_model_status_pb2.GetModelStatusRequest,
        context: grpc.aio.ServicerContext,
    ) -> get_model_status_pb2.GetModelStatusResponse:
        """Reports the versions and their states."""
        name, version = _model(request)
        response = get_model_status_pb2.GetModelStatusResponse()
        for status in self.service.status(name, version):
            entry = response.model_version_status.add()
            entry.version = status.version
            entry.state = get_model_status_pb2.ModelVersionStatus.State.Value(status.state)
            entry.status.error_code = 2 if status.error else 0  # UNKNOWN, OK
            entry.status.error_message = status.error or ""
        return response

    async def HandleReloadConfigRequest(
        self, request: Any, context: grpc.aio.ServicerContext
    ) -> None:
        """Refuses."""
        await _refuse(self.service, context, "HandleReloadConfigRequest")


def _model(request: Any) -> tuple[str, Asked]:
    """Returns the name of the request's model and the version or label, if one is requested."""
    if not request.HasField("model_spec"):
        raise ServingError(Code.INVALID_ARGUMENT, "Missing ModelSpec: name the model")
    spec = request.model_spec
    if spec.HasField("version_label"):
        return spec.name, spec.version_label
    return spec.name, spec.version.value if spec.HasField("version") else None


def _spec(loaded: LoadedVersion, signature_name: str = "") -> model_pb2.ModelSpec:
    version = Int64Value(value=loaded.number)
    return model_pb2.ModelSpec(name=loaded.name, version=version, signature_name=signature_name)


def _wanted_outputs(asked: Sequence[str], signature: Signature) -> list[str]:
    """Returns the outputs to send: those requested, or all."""
    names = [output.name for output in signature.outputs]
    for name in asked:
        if name not in names:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"output tensor alias not found in signature: {name} Outputs expected to be in "
                f"the set {{{','.join(sorted(names))}}}.",
            )
    if len(set(asked)) < len(asked):
        message = f"duplicate output tensor alias among {', '.join(asked)}"
        raise ServingError(Code.INVALID_ARGUMENT, message)
    return list(asked) or names


async def _refuse(service: Service, context: grpc.aio.ServicerContext, method: str) -> None:
    names = {name for signatures in service.kinds() for name in signatures}
    further = [one.title() for one in get_args(Judgement) if one in names]
    *served, last = "Predict", *further, "GetModelMetadata", "GetModelStatus"
    await context.abort(
        grpc.StatusCode.UNIMPLEMENTED,
        f"{method} is not served here: {', '.join(served)} and {last} are.",
    )
