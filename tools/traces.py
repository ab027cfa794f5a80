"""The files of the package that one call passes, in order: a translation with an artefact, and a
request to a server of it.

    python -m tools.traces ARTEFACT

What is imported or made once does not count, nor what names a misspelt argument: it stands around
every public name that something of the process has asked for.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import queue
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import keras_transformer
from keras_transformer import suggestions
from keras_transformer.runtime.translator import OnnxTranslator
from keras_transformer.serving.server import serve
from keras_transformer.serving.settings import ServeOptions

PACKAGE = Path(keras_transformer.__file__).parent
_NOT_COUNTED = Path(suggestions.__file__)
TEXT = "the small dog sleeps in the garden ."
MODEL = "traced"
_START_SECONDS = 60
# A look for new versions is no part of a request.
_NO_LOOKS = 3600.0


class Trace:
    """Notes the files of the package whose functions are called, by any thread.

    Threads that run already are not followed: enter it before they are started.
    """

    def __init__(self) -> None:
        # A dict for its order.
        self._passed: dict[str, None] | None = None

    def __enter__(self) -> "Trace":
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    def files(self, call: Callable[[], object]) -> list[str]:
        """Returns the paths below the package that a call passes, in the order in which it reaches
        them.

        It is called three times. The first imports and makes what is made once; what only one of
        the others passes, as a timer that happened to run out, is no part of it.
        """
        call()
        once, again = self._passed_by(call), self._passed_by(call)
        paths = [Path(path) for path in once if path in again]
        return [
            path.relative_to(PACKAGE).as_posix()
            for path in paths
            if path.is_relative_to(PACKAGE) and path != _NOT_COUNTED
        ]

    def _passed_by(self, call: Callable[[], object]) -> dict[str, None]:
        passed = self._passed = {}
        try:
            call()
        finally:
            self._passed = None
        return passed

    def _note(self, frame: FrameType, event: str, given: Any) -> None:
        passed = self._passed
        if passed is not None and event == "call":
            passed.setdefault(frame.f_code.co_filename)


def translation_files(artefact: Path) -> list[str]:
    """Returns the files that `OnnxTranslator.translate` passes."""
    with Trace() as trace, OnnxTranslator(artefact) as translator:
        return trace.files(lambda: translator.translate([TEXT]))


def request_files(artefact: Path) -> list[str]:
    """Returns the files that a request to `:predict` passes, from its first byte to its answer's
    last.
    """
    with Trace() as trace, _server(artefact) as port:
        return trace.files(lambda: _ask(port))


@contextlib.contextmanager
def _server(artefact: Path) -> Iterator[int]:
    """Serves an artefact in a thread; yields the port."""
    options = ServeOptions(
        artefact=artefact, model_name=MODEL, port=0, poll_seconds=_NO_LOOKS, log_requests=False
    )
    begun: queue.Queue[Any] = queue.Queue()

    async def run() -> None:
        stop = asyncio.Event()
        begun.put((asyncio.get_running_loop(), stop))
        await serve(options, {}, begun.put, stop)

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    loop, stop = begun.get(timeout=_START_SECONDS)
    try:
        yield int(begun.get(timeout=_START_SECONDS).rpartition(":")[2])
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


def _ask(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    body = json.dumps({"instances": [TEXT]})
    connection.request("POST", f"/v1/models/{MODEL}:predict", body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(f"the server answered {answer.status}: {content.decode()}")


def main() -> None:
    """Reads the command line and prints the files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("artefact", type=Path, help="an artefact of an encoder-decoder")
    artefact = parser.parse_args().artefact
    for name, files in (
        ("translate", translation_files(artefact)),
        ("request", request_files(artefact)),
    ):
        print(f"{name}: {len(files)} files", *files, sep="\n  ")


if __name__ == "__main__":
    main()
