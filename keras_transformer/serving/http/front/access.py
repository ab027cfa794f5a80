"""Access control of the REST side: web pages of other origins (CORS) and API keys."""

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.http.exchange import TIMEOUT_HEADER, error_response
from keras_transformer.serving.http.front.names import HEALTH
from keras_transformer.serving.journal import UNKNOWN
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.settings import ServeOptions

_PREFLIGHT_SECONDS = 600
_ALLOWED_HEADERS = f"Authorization, Content-Encoding, Content-Type, {TIMEOUT_HEADER}"


class Access:
    """Answers requests that are refused, and preflights; all others go to an application.

    Args:
        app: The application.
        service: Counts what is refused.
        options: Their `cors_origin`.
        keys: The keys that clients need; None if they need none.
    """

    def __init__(
        self, app: ASGIApp, service: Service, options: ServeOptions, keys: ApiKeys | None
    ) -> None:
        self._app, self._service, self._keys = app, service, keys
        self._origins = frozenset(options.cors_origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or lets it through."""
        path = scope["path"].removeprefix(scope["root_path"])
        origin = _header(scope, b"origin") if self._origins else b""
        if origin:
            send = self._with_origin(origin, send)
        try:
            with self._service.refusals("rest", UNKNOWN):
                is_preflight = self._is_preflight(scope, origin)
                if self._keys is not None and not is_preflight and not _is_open(path):
                    self._keys.check(_header(scope, b"authorization"))
        except ServingError as error:
            await error_response(error)(scope, receive, send)
            return
        await (_preflight() if is_preflight else self._app)(scope, receive, send)

    def _is_preflight(self, scope: Scope, origin: bytes) -> bool:
        """Returns whether a request is a CORS preflight; refuses pages of origins that are not
        allowed.
        """
        if not origin or scope["method"] != "OPTIONS":
            return False
        if not _header(scope, b"access-control-request-method"):
            return False
        if not self._allows(origin):
            raise ServingError(
                Code.PERMISSION_DENIED,
                f"web pages of {origin.decode('latin-1')!r} may not send requests: allow them with "
                "--cors-origin.",
            )
        return True

    def _allows(self, origin: bytes) -> bool:
        return "*" in self._origins or origin.decode("latin-1").lower() in self._origins

    def _with_origin(self, origin: bytes, send: Send) -> Send:
        """Returns a `send` that tells a browser which origin may read the answer."""
        headers = [(b"vary", b"origin")]
        if self._allows(origin):
            allowed = b"*" if "*" in self._origins else origin
            headers.append((b"access-control-allow-origin", allowed))
            headers.append((b"access-control-expose-headers", b"Retry-After"))

        async def send_with_origin(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *headers]
            await send(message)

        return send_with_origin


def _is_open(path: str) -> bool:
    """Returns whether a path needs no key: health, and the files of the page, which asks for it."""
    return path in HEALTH or path == "/" or path.startswith("/page/")


def _header(scope: Scope, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")


def _preflight() -> Response:
    headers = {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
        "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS),
    }
    return Response(status_code=204, headers=headers)
