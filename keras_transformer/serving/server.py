"""Runs a server: REST and optionally gRPC in one event loop, from opening the artefact to the last
answer after a signal to stop.
"""

import asyncio
import contextlib
import math
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import uvicorn
import uvloop

from keras_transformer.distribution import install_command
from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.http.app import build_app
from keras_transformer.serving.http.exchange import BodyReader
from keras_transformer.serving.http.front.connection import Connection
from keras_transformer.serving.http.front.gate import Gate
from keras_transformer.serving.journal import Journal
from keras_transformer.serving.models.model_options import ModelOptions
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.rpc.bare_tensorflow import bare_tensorflow
from keras_transformer.serving.settings import ServeOptions

if TYPE_CHECKING:
    from keras_transformer.serving.rpc.grpc_server import GrpcServer

_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 60
# How long a server that is to stop still answers on connections that are open: their clients learn
# with the next answer that it was the last.
_PARTING_SECONDS = 0.5
_LOOK_SECONDS = 0.02
# A thread that has run a graph waits so long for the interpreter if the event loop has it: with
# Python's 5 ms that is as long as some runs take.
_SWITCH_SECONDS = 0.0005


def run_server(
    options: ServeOptions, search: Mapping[str, Any], tell: Callable[[str], None] = print
) -> None:
    """Serves until SIGTERM, SIGINT or SIGHUP, then finishes what it has accepted.

    A process that was started with SIGHUP ignored, as by `nohup`, continues to ignore it.

    Args:
        options: What to serve, and where.
        search: Fields of `SearchOptions` for every model; others are a model's own or defaults.
        tell: Called with one line, the addresses, once a version is loaded.

    Raises:
        FileNotFoundError: There is no artefact.
        ImportError: gRPC or a file of models is requested, and its packages are not installed.
        OSError: It cannot listen on an address.
        ValueError: No version can be loaded, or an option does not fit the model.
    """

    async def run() -> None:
        stop = asyncio.Event()
        for number in before:
            if number != signal.SIGHUP or before[number] != signal.SIG_IGN:
                asyncio.get_running_loop().add_signal_handler(number, stop.set)
        await serve(options, search, tell, stop)

    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in signals}
    switched = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(run())
    finally:
        sys.setswitchinterval(switched)
        # The loop leaves its own handlers, which do nothing any more.
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


async def serve(
    options: ServeOptions,
    search: Mapping[str, Any],
    tell: Callable[[str], None],
    stop: asyncio.Event,
) -> None:
    """As `run_server`, within the running event loop, until `stop` is set."""
    journal = Journal(log_requests=options.log_requests, log_text=options.log_text)
    service = Service(_models(options), options, search, journal)
    keys = None if options.api_key_file is None else ApiKeys(options.api_key_file, journal)
    rest = _RestServer(service, options, keys)
    stopping = asyncio.create_task(stop.wait())
    grpc = None
    try:
        grpc = await _start_grpc(service, options, keys)
        await rest.start()
        addresses = f"REST {rest.address}" + (f", gRPC {options.host}:{grpc.port}" if grpc else "")
        watching = asyncio.create_task(_watch(service, addresses, tell))
        await asyncio.wait({watching, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if watching.done():
            # It looks on forever, unless the artefact is no use.
            await watching
        watching.cancel()
    finally:
        stopping.cancel()
        service.draining = True
        journal.event("draining")
        stops = [rest.stop()]
        if grpc:
            stops.append(grpc.stop(options.drain_seconds, _PARTING_SECONDS))
        await asyncio.gather(*stops)
        await service.close()


class _RestServer:
    """uvicorn on a socket and in an event loop that we provide.

    Args:
        service: Answers requests.
        options: Their host, port and seconds to drain.
        keys: The keys that clients need; None if they need none.

    Attributes:
        address: The URL that it answers at.

    Raises:
        OSError: It cannot listen on the address.
    """

    def __init__(self, service: Service, options: ServeOptions, keys: ApiKeys | None) -> None:
        self._socket = _listen(options.host, options.port, "--port")
        host, port = self._socket.getsockname()[:2]
        self.address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self._bodies = BodyReader(options.max_body_bytes, options.request_timeout)
        gate = Gate(options.max_header_bytes, options.header_timeout, service.journal)
        config = uvicorn.Config(
            build_app(service, self._bodies, options, keys),
            http=partial(Connection, gate=gate),  # type: ignore[arg-type]
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=math.ceil(options.drain_seconds),
        )
        self._server = _Uvicorn(config)
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Starts to listen."""
        self._running = asyncio.create_task(self._server.serve(sockets=[self._socket]))
        while not self._server.started:
            await asyncio.sleep(_LOOK_SECONDS)

    async def stop(self) -> None:
        """Accepts no more connections, and ends when the open ones have been answered."""
        if self._running is None:
            self._socket.close()
            return
        for listener in self._server.servers:
            listener.close()
        self._bodies.hurry(_PARTING_SECONDS)
        await asyncio.sleep(_PARTING_SECONDS)
        self._server.should_exit = True
        await self._running


class _Uvicorn(uvicorn.Server):
    """uvicorn without signal handlers of its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leaves the signals alone."""
        yield


async def _watch(service: Service, addresses: str, tell: Callable[[str], None]) -> None:
    """Loads the first version, reports it, and looks for newer ones."""
    await service.look()
    # A server that waits for a version to come would never say why it does not answer.
    service.check_loaded()
    tell(f"serving {service.describe()}: {addresses}")
    await service.watch()


def _models(options: ServeOptions) -> list[ModelOptions]:
    if options.model_config is None:
        return options.models()
    try:
        from keras_transformer.serving.models.model_config import read_model_config
    except ModuleNotFoundError as error:
        raise ImportError(
            f"--model-config needs {error.name}: install it with `{install_command('grpc')}`."
        ) from error
    return read_model_config(options.model_config)


async def _start_grpc(
    service: Service, options: ServeOptions, keys: ApiKeys | None
) -> "GrpcServer | None":
    if options.grpc_port is None:
        return None
    # gRPC's own message is that of its library; this one names the address and the reason.
    _listen(options.host, options.grpc_port, "--grpc-port").close()
    try:
        with bare_tensorflow():
            from keras_transformer.serving.rpc.grpc_server import start_grpc
    except ModuleNotFoundError as error:
        raise ImportError(
            f"gRPC needs {error.name}: install it with `{install_command('grpc')}`, "
            "or leave --grpc-port out."
        ) from error
    return await start_grpc(service, options, keys)


def _listen(host: str, port: int, flag: str) -> socket.socket:
    """Opens a listening socket, so that its port is known even if it picked a free one."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        reason = error.strerror or error
        message = f"cannot listen on {host}:{port} ({flag}): {reason}; 0 takes a free port."
        raise OSError(message) from error
