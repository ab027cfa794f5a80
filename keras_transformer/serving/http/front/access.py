"""Access control of the REST side: host names and the `X-Forwarded-*` headers of trusted proxies,
web pages of other origins (CORS), and API keys.
"""

import ipaddress
import re
import socket
from collections.abc import Sequence

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.http.exchange import TIMEOUT_HEADER, error_response
from keras_transformer.serving.journal import UNKNOWN
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.settings import ServeOptions

_PREFLIGHT_SECONDS = 600
# OpenAI's client in a browser has several of its own; the first is not among what * stands for.
_ALLOWED_HEADERS = f"Authorization, Content-Encoding, Content-Type, {TIMEOUT_HEADER}, *"
# Probes ask by an address of their own and have no key; they learn one word.
_HEALTH = ("/healthz", "/readyz", "/v2/health/live", "/v2/health/ready")
# LibreTranslate's paths, whose clients send their key as a field of the body.
KEY_IN_BODY = ("/translate", "/languages", "/detect", "/frontend/settings")
_LOOPBACK = ("localhost", "*.localhost", "127.0.0.1", "::1")
_HOST = re.compile(r"[\w.-]+(:\d+)?|\[[0-9a-fA-F:.]+\](:\d+)?", re.ASCII)
_PREFIX = re.compile(r"(/[\w.~-]+)+", re.ASCII)
_FORWARDED = b"x-forwarded-"


class HostNames:
    """Refuses requests for other hosts, and passes on the scheme, host and path prefix that clients
    see.

    Args:
        app: The application.
        service: Counts what is refused.
        options: Their `host`, `allowed_hosts`, `root_path` and `forwarded_allow_ips`, the proxies
            whose headers count.
    """

    def __init__(self, app: ASGIApp, service: Service, options: ServeOptions) -> None:
        self._app, self._service, self._root = app, service, options.root_path
        self._hosts = options.allowed_hosts or _default_hosts(options.host)
        self._trusts_all = "*" in options.forwarded_allow_ips
        self._networks = [
            ipaddress.ip_network(one, strict=False)
            for one in options.forwarded_allow_ips
            if one != "*"
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes one request on."""
        hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        root = self._root
        if (self._trusts_all or self._networks) and self._trusts(scope):
            root = _apply(scope) or root
        if root:
            scope["root_path"] = root
            # A proxy may have taken the prefix away, or have left it there.
            if scope["path"] == root:
                scope["path"] += "/"
            elif not scope["path"].startswith(root + "/"):
                scope["path"] = root + scope["path"]
        try:
            with self._service.refusals("rest", UNKNOWN):
                # What counts is the Host that came, not the one that a proxy's header names.
                self._check(hosts, scope)
        except ServingError as error:
            await error_response(error)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _check(self, hosts: Sequence[str], scope: Scope) -> None:
        if len(hosts) != 1 and (hosts or scope["http_version"] != "1.0"):
            message = f"a request must have one Host header, got {len(hosts)}."
            raise ServingError(Code.INVALID_ARGUMENT, message)
        is_health = scope["path"].removeprefix(scope["root_path"]) in _HEALTH
        if "*" in self._hosts or is_health or not hosts:
            return
        name = _host_name(hosts[0])
        if not any(_matches(name, pattern) for pattern in self._hosts):
            raise ServingError(
                Code.PERMISSION_DENIED,
                f"the host {name!r} is not allowed on this server: add it with --allowed-hosts.",
            )

    def _trusts(self, scope: Scope) -> bool:
        if self._trusts_all:
            return True
        try:
            client = ipaddress.ip_address(scope["client"][0])
        except (TypeError, ValueError):
            return False
        # A server that listens for both kinds sees IPv4 written as IPv6.
        client = getattr(client, "ipv4_mapped", None) or client
        return any(client in network for network in self._networks)


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
                authorization = _header(scope, b"authorization")
                # A key in the body is checked where that is read.
                is_open = _is_open(path) or (path in KEY_IN_BODY and not authorization)
                if self._keys is not None and not is_preflight and not is_open:
                    self._keys.check(authorization)
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


def _apply(scope: Scope) -> str:
    """Applies a proxy's scheme and host, and returns its prefix; what is malformed is ignored."""
    found = {
        name.removeprefix(_FORWARDED): value.decode("latin-1").partition(",")[0].strip()
        for name, value in reversed(scope["headers"])
        if name.startswith(_FORWARDED)
    }
    if found.get(b"proto", "").lower() in ("http", "https"):
        scope["scheme"] = found[b"proto"].lower()
    host = found.get(b"host", "")
    if _HOST.fullmatch(host):
        others = [header for header in scope["headers"] if header[0] != b"host"]
        scope["headers"] = [(b"host", host.encode()), *others]
    prefix = found.get(b"prefix", "").rstrip("/")
    return prefix if _PREFIX.fullmatch(prefix) else ""


def _host_name(host: str) -> str:
    """Returns the name in a Host header, without port, brackets and a final dot."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower().removesuffix(".")


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:])
    return name == pattern


def _default_hosts(host: str) -> Sequence[str]:
    """Returns the names of a server on the loopback interface, or `*` for any other."""
    try:
        found = socket.getaddrinfo(host, None)
        addresses = [ipaddress.ip_address(one[4][0]) for one in found]
    except (OSError, ValueError):
        return ("*",)
    is_loopback = all(address.is_loopback for address in addresses)
    return (*_LOOPBACK, host.lower()) if is_loopback else ("*",)


def _is_open(path: str) -> bool:
    """Returns whether a path needs no key: health, and the files of the page, which asks for it."""
    return path in _HEALTH or path == "/" or path.startswith("/page/")


def _header(scope: Scope, wanted: bytes) -> bytes:
    return next((value for name, value in scope["headers"] if name == wanted), b"")


def _preflight() -> Response:
    headers = {
        "Access-Control-Allow-Methods": "GET, POST",
        "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
        "Access-Control-Max-Age": str(_PREFLIGHT_SECONDS),
    }
    return Response(status_code=204, headers=headers)
