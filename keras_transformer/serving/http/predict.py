"""The predict call as a bare ASGI application.

The framework's routing and its request objects would take a large part of a short translation's
time.
"""

from collections.abc import Iterable
from functools import partial

from starlette.types import ASGIApp, Receive, Scope, Send

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.http.exchange import (
    BodyReader,
    error_response,
    read_timeout,
    send_json,
    until_hang_up,
)
from keras_transformer.serving.http.json_tensors import read_inputs, read_predict, write_outputs
from keras_transformer.serving.models.model_options import is_version
from keras_transformer.serving.models.outputs import written
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.models.versioning.versions import Asked


class Predict:
    """Runs a signature of the model, and of the version, that the router found in the path.

    Args:
        service: Answers requests.
        bodies: Reads the bodies of requests.
    """

    def __init__(self, service: Service, bodies: BodyReader) -> None:
        self._service, self._bodies = service, bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, an error in TensorFlow Serving's shape."""
        try:
            answer = await self._answer(scope, receive)
        except ServingError as error:
            await error_response(error)(scope, receive, send)
        else:
            await send_json(send, answer)

    async def _answer(self, scope: Scope, receive: Receive) -> bytes:
        model, version = asked_version(scope)
        with self._service.refusals("rest", model):
            timeout = read_timeout(scope)
            body = await self._bodies.read(scope, receive)
            asked = read_predict(body)
            loaded = self._service.find(model, version)
            signature = loaded.signature(asked.signature_name)
            inputs = read_inputs(asked, signature)
        outputs = await self._service.predict(
            loaded,
            signature,
            inputs,
            timeout=timeout,
            waiting=partial(until_hang_up, receive),
        )
        write = partial(write_outputs, outputs, signature, is_row=asked.is_row)
        return await written(outputs, write)


class PredictFirst:
    """Answers the served models' predict calls before the framework sees them.

    Args:
        app: The framework's application, for all other requests.
        predict: What answers predict calls.
        names: Names of the served models.
    """

    def __init__(self, app: ASGIApp, predict: Predict, names: Iterable[str]) -> None:
        self._app, self._predict = app, predict
        self._path_params = {f"/v1/models/{name}:predict": {"model": name} for name in names}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, as the framework's router would."""
        path = scope["path"].removeprefix(scope["root_path"])
        path_params = self._path_params.get(path)
        if path_params is not None and scope["method"] == "POST":
            scope["path_params"] = path_params
            await self._predict(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def asked_version(scope: Scope) -> tuple[str, Asked]:
    """Returns the model and the version, a number or a label, in a request's path.

    Raises:
        ServingError: The version is not a number.
    """
    asked = scope["path_params"]
    version = asked.get("version")
    if version is None:
        return asked["model"], asked.get("label")
    if not is_version(version):
        message = f"the version in the path must be a number, got {version!r}."
        raise ServingError(Code.INVALID_ARGUMENT, message)
    return asked["model"], int(version)
