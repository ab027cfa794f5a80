"""A soak: many clients drive a server while new versions of its model are loaded again and again,
and its memory is recorded.
"""

import contextlib
import os
import shutil
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from speed.processes import Worker

from .servers import MODEL_NAME, Server, our_server
from .suite import Load, drive

# Clients connect anew from time to time.
_TURN_SECONDS = 20.0
_LOOK_SECONDS = 0.05
_PATIENCE_SECONDS = 60.0


def soak(
    artefact: Path, load: Load, clients: int, pause: float, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Drives a server on the loopback interface for `load.seconds`, and loads new versions.

    Args:
        artefact: What every version is a copy of.
        load: What is sent and expected, and how long.
        clients: Clients at the same time.
        pause: Seconds between two new versions.
        tell: Called with a line for each version.

    Returns:
        "requests" answered correctly, "lost", "wrong" and "complaints"; "samples", one for each
        version: "seconds" since the start, "loads" so far, and in MB "rss", with the process's own
        as "anonymous".

    Raises:
        RuntimeError: A version was not loaded.
    """
    found: dict[str, Any] = {"requests": 0, "lost": 0, "wrong": 0, "complaints": [], "samples": []}
    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        _publish(artefact, base, 1)
        server = stack.enter_context(our_server(base))
        driver = stack.enter_context(Worker("load.clients", name="the clients"))
        thread = stack.enter_context(ThreadPoolExecutor(1))
        start = time.perf_counter()
        driving = thread.submit(_drive, load, clients, server, driver, start, found)
        for loads in _versions(artefact, base, server, pause, driving):
            sample = {
                "seconds": time.perf_counter() - start,
                "loads": loads,
                "rss": server.memory() / 1e6,
                "anonymous": server.memory("RssAnon") / 1e6,
            }
            found["samples"].append(sample)
            tell(
                f"{sample['seconds']:,.0f} s, {loads} loads, {found['requests']:,} requests: "
                f"{sample['rss']:.0f} MB ({sample['anonymous']:.0f} anonymous)"
            )
        driving.result()
    return found


def _drive(
    load: Load, clients: int, server: Server, driver: Worker, start: float, found: dict[str, Any]
) -> None:
    while (left := start + load.seconds - time.perf_counter()) > 0:
        turn = drive(load, clients, server, driver, min(left, _TURN_SECONDS))
        found["requests"] += len(turn["latencies"])
        for name in ("lost", "wrong", "complaints"):
            found[name] += turn[name]


def _versions(
    artefact: Path, base: Path, server: Server, pause: float, driving: Future[None]
) -> Iterator[int]:
    """Yields the number of loads beside the first one: at the start and after each."""
    loads = 0
    while not driving.done():
        yield loads
        time.sleep(pause)
        loads += 1
        _publish(artefact, base, loads + 1)
        _wait_for(server, loads + 1)
        shutil.rmtree(base / str(loads))
    yield loads


def _publish(artefact: Path, base: Path, number: int) -> None:
    hidden = base / f"new-{number}"
    shutil.copytree(artefact, hidden)
    os.rename(hidden, base / str(number))


def _wait_for(server: Server, number: int) -> None:
    """Waits until a version is the only one."""
    address = f"http://127.0.0.1:{server.port}/v1/models/{MODEL_NAME}/versions/"
    end = time.monotonic() + _PATIENCE_SECONDS
    for version, state in ((number, "AVAILABLE"), (number - 1, "END")):
        while not _is(address + str(version), state):
            if time.monotonic() > end:
                raise RuntimeError(f"version {version} of {server.name} is not {state}.")
            time.sleep(_LOOK_SECONDS)


def _is(address: str, state: str) -> bool:
    with (
        contextlib.suppress(urllib.error.HTTPError),
        urllib.request.urlopen(address, timeout=_PATIENCE_SECONDS) as answer,
    ):
        return f'"{state}"' in answer.read().decode("utf-8")
    return False
