"""API keys from a file; a client must send one of them as its bearer token."""

import hashlib
import hmac
import os
import re
import stat
import time
from pathlib import Path

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.journal import Journal

_KEY = re.compile(rb"[!-~]+")
_BEARER = re.compile(rb"bearer +([!-~]+) *", re.IGNORECASE)
_MOST_BYTES = 1 << 16
# A changed file is noticed by the first request after so many seconds.
_LOOK_SECONDS = 1.0


class ApiKeys:
    """Checks tokens against a file's keys in constant time, however much of a token is right.

    The file has a key in each line, of visible ASCII characters. It is read again when it changes;
    if that fails, the last keys stay valid, and the log says why.

    Args:
        path: The file.
        journal: Logs that the file changed, and warns if every user may read it.

    Raises:
        OSError: The file cannot be read; the message says why.
        ValueError: It holds no key, or something that is not a key.
    """

    def __init__(self, path: Path, journal: Journal) -> None:
        self._path, self._journal = path, journal
        self._digests = self._read()
        self._state, self._looked = self._look(), time.monotonic()

    def check(self, authorization: bytes) -> None:
        """Checks the value of an `Authorization` header.

        Raises:
            ServingError: It does not hold one of the keys.
        """
        if time.monotonic() - self._looked >= _LOOK_SECONDS:
            self._renew()
        found = _BEARER.fullmatch(authorization)
        digest = hashlib.sha256(found[1] if found else b"").digest()
        # Every key is compared, so that the time tells nothing.
        if not any([hmac.compare_digest(digest, known) for known in self._digests]):
            what = "this API key is not known" if found else "an API key is needed"
            raise ServingError(
                Code.UNAUTHENTICATED, f"{what}: send the header `Authorization: Bearer KEY`."
            )

    def _renew(self) -> None:
        self._looked = time.monotonic()
        state = self._look()
        if state == self._state:
            return
        self._state = state
        try:
            self._digests = self._read()
        except (OSError, ValueError) as error:
            self._journal.event("API keys", kept=len(self._digests), error=str(error))
        else:
            self._journal.event("API keys", read=len(self._digests))

    def _look(self) -> tuple[int, ...]:
        """Returns what changes with the file; nothing if there is none."""
        try:
            found = os.stat(self._path)
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino, found.st_dev

    def _read(self) -> list[bytes]:
        try:
            with self._path.open("rb") as file:
                mode = os.fstat(file.fileno()).st_mode
                text = file.read(_MOST_BYTES + 1)
        except OSError as error:
            message = f"api_key_file {self._path} cannot be read: {error.strerror}."
            raise type(error)(message) from error
        if len(text) > _MOST_BYTES:
            raise ValueError(f"api_key_file {self._path} has more than {_MOST_BYTES} bytes.")
        lines = enumerate(text.removeprefix(b"\xef\xbb\xbf").splitlines(), start=1)
        keys = [(number, line.strip()) for number, line in lines if line.strip()]
        for number, key in keys:
            if not _KEY.fullmatch(key):
                raise ValueError(
                    f"line {number} of api_key_file {self._path} is not a key: write visible "
                    "ASCII characters without spaces."
                )
        if not keys:
            raise ValueError(f"api_key_file {self._path} has no key: write one in each line.")
        if stat.S_ISREG(mode) and mode & stat.S_IROTH:
            warning = "every user of this machine may read it: chmod o-r"
            self._journal.event("API keys", file=str(self._path), warning=warning)
        return [hashlib.sha256(key).digest() for _, key in keys]
