"""One version of a model: the state that clients are told, the loaded model with its users, and the
return of its memory to the system.
"""

import asyncio
import ctypes
import dataclasses
import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, Signature
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models.batching import Batcher
from keras_transformer.serving.models.served import Served

State = Literal["START", "LOADING", "AVAILABLE", "UNLOADING", "END"]


@dataclasses.dataclass(frozen=True)
class VersionStatus:
    """The state of one version of a model.

    Attributes:
        version: Its number.
        state: As in TensorFlow Serving.
        error: Why it could not be loaded; None if nothing went wrong.
    """

    version: int
    state: State
    error: str | None = None


class LoadedVersion:
    """A model that takes requests.

    Attributes:
        name: The model's name.
        number: Its version.
        model: The model.
        batcher: Hands rows to it.
    """

    def __init__(self, name: str, number: int, model: Served, batcher: Batcher) -> None:
        self.name, self.number, self.model, self.batcher = name, number, model, batcher
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()

    def signature(self, name: str) -> Signature:
        """Returns a signature by name, the default one if the name is "".

        Raises:
            ServingError: There is no signature of that name.
        """
        signatures = self.model.signatures
        try:
            return signatures[name or DEFAULT_SIGNATURE]
        except KeyError:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f'Serving signature name: "{name}" not found in signature def; there are '
                f"{', '.join(signatures)}.",
            ) from None

    @contextmanager
    def use(self) -> Iterator[None]:
        """Keeps the model loaded within the `with` block."""
        self._users += 1
        self._unused.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def close(self) -> None:
        """Waits until the model is no longer in use, then releases it."""
        await self._unused.wait()
        self.batcher.close()
        self.model.close()


def return_freed_memory() -> None:
    """Returns to the system what has been freed, by Python's objects and by native code.

    The C library keeps freed memory for each thread that has allocated some, up to 64 MB at the end
    of each of its heaps and all that lies between blocks in use. The weights and tokenizers of
    versions that come and go, loaded by one thread and used by others, leave more of it with each.
    Only garbage is collected if the C library has no `malloc_trim`.
    """
    # A model's parts refer to each other.
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
