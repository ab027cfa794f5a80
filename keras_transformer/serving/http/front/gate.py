"""Limits that all connections of a server share: the size and time of a request's head, and the
number of open files. At that limit, the connection that has been idle longest is closed for a new
one.
"""

import math
import os
import resource
import time
from collections.abc import Collection
from typing import Any, Protocol

from keras_transformer.serving.errors import Code
from keras_transformer.serving.journal import UNKNOWN, Journal

MOST_HEADERS = 100
# Requests of a connection that wait for the answers to earlier ones; each takes some kilobytes.
MOST_PIPELINED = 100
LONGEST_HEADER = LONGEST_URL = 8192
# File descriptors that are kept for all but connections, or an eighth where there are few.
_SPARE_FILES = 32
# One line of the log tells of all that happened in this time.
_TELL_SECONDS = 10.0


class Waiting(Protocol):
    """The interface of a connection for a gate."""

    was_answered: bool
    waiting_since: float

    @property
    def is_waiting(self) -> bool:
        """Whether it is open and no answer is due."""

    def give_way(self) -> None:
        """Ends it at once."""


class Gate:
    """Lets connections in while there are files to open.

    Args:
        header_bytes: Most bytes of a request's line and headers, and of its trailers.
        header_seconds: Seconds within which they must have arrived.
        journal: Counts refusals and logs connections that were closed for new ones.

    Attributes:
        header_bytes: Most bytes of a request's line and headers, and of its trailers.
        header_seconds: Seconds within which they must have arrived.
        head_refusal: The status and the message for a head that is too large.
        few_connections: While there are fewer, every one may stay.
    """

    def __init__(self, header_bytes: int, header_seconds: float, journal: Journal) -> None:
        self.header_bytes, self.header_seconds = header_bytes, header_seconds
        self.head_refusal = (
            431,
            f"a request may have {MOST_HEADERS} headers and trailers of {header_bytes} bytes "
            f"together, none longer than {LONGEST_HEADER}.",
        )
        self._journal = journal
        most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most_files = most - min(_SPARE_FILES, most // 8)
        self.few_connections = self._most_files // 2
        self._told = -math.inf

    def let_in(self, new: Waiting, connections: Collection[Any]) -> bool:
        """Returns whether a new connection may stay; if need be, one that waits is closed for it.

        Args:
            new: The new one.
            connections: All that are open.
        """
        if len(connections) < self.few_connections or _open_files() <= self._most_files:
            return True
        self._tell()
        waiting = [one for one in connections if one is not new and one.is_waiting]
        if not waiting:
            return False
        # Clients that have not asked for anything yet, then those that are idle.
        min(waiting, key=lambda one: (one.was_answered, one.waiting_since)).give_way()
        return True

    def count_refusal(self, code: Code) -> None:
        """Counts and logs a refusal that comes before any request."""
        self._journal.end(self._journal.begin("rest", UNKNOWN), code.name)

    def _tell(self) -> None:
        if time.monotonic() - self._told > _TELL_SECONDS:
            self._told = time.monotonic()
            action = "idle connections are closed for new ones: raise `ulimit -n`"
            self._journal.event("too many open files", action=action)


def _open_files() -> float:
    """Returns how many files the process has open; infinity if it cannot open one more to look."""
    try:
        return len(os.listdir("/dev/fd"))
    except OSError:
        return math.inf
