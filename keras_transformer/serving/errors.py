"""Errors that are sent to clients: a code for both protocols, and a message."""

import enum
import logging
from typing import Literal

_log = logging.getLogger(__name__)
# A client's own text may be repeated in a message, however long it is.
_MOST_CHARACTERS = 2000


class Code(enum.Enum):
    """Kinds of failure, named as gRPC names them."""

    INVALID_ARGUMENT = 400
    UNAUTHENTICATED = 401
    PERMISSION_DENIED = 403
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
    """A request that fails.

    Args:
        code: What kind of failure it is.
        message: What was wrong and what was expected, for the client to read; a very long message
            is cut, and it can always be encoded.
        param: The field of the request that was wrong, if any.

    Attributes:
        code: What kind of failure it is.
        message: What was wrong and what was expected.
        param: The field of the request that was wrong; None if no field was, or it is not known.
    """

    def __init__(self, code: Code, message: str, param: str | None = None) -> None:
        if len(message) > _MOST_CHARACTERS:
            message = message[:_MOST_CHARACTERS] + "…"
        message = encodable(message)
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param

    @property
    def http_status(self) -> int:
        """The status of an HTTP answer."""
        return self.code.http_status


def refusal(message: str, param: str | None = None) -> ServingError:
    """Returns the error for a request that cannot be answered as it is; see `ServingError`."""
    return ServingError(Code.INVALID_ARGUMENT, message, param)


def failure_of(error: Exception, place: Literal["server", "model"]) -> ServingError:
    """Returns the error that the client gets: its own, if it is one for it; others are logged."""
    if isinstance(error, ServingError):
        return error
    _log.error("a request failed", exc_info=error)
    message = f"the {place} failed ({type(error).__name__}); the server's log says more."
    return ServingError(Code.INTERNAL, message)


def encodable(text: str) -> str:
    r"""Returns a text that UTF-8 can encode: half a surrogate pair becomes its escape, `\ud800`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
