"""What the server answers if it has no result: a code that both protocols know, and a message for
the client.
"""

import enum


class Code(enum.Enum):
    """Kinds of failure, named as gRPC names them."""

    INVALID_ARGUMENT = 400
    NOT_FOUND = 404
    RESOURCE_EXHAUSTED = 429
    DEADLINE_EXCEEDED = 504
    UNAVAILABLE = 503
    CANCELLED = 499
    INTERNAL = 500

    @property
    def http_status(self) -> int:
        """The status of an HTTP answer with this code."""
        return self.value


class ServingError(Exception):
    """A request that gets no result.

    Args:
        code: What kind of failure it is.
        message: What was wrong and what was expected, for the client to read.
    """

    def __init__(self, code: Code, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

    @property
    def http_status(self) -> int:
        """The status of an HTTP answer."""
        return self.code.http_status
