"""Notices shards that are missing, damaged or changed, whenever one is opened."""

import hashlib
from pathlib import Path

from keras_transformer.data.prepared.record import Shard


class IntactShards:
    """The shards of a directory, which must stay as they were written.

    The content of a file is read when it is first opened, and again if its size, its times or its
    place on the disk have changed since.

    Args:
        directory: Directory of the shards.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._seen: dict[str, tuple[int, ...]] = {}

    def check(self, shard: Shard) -> str:
        """Returns the path of a shard that is as it was written.

        Raises:
            FileNotFoundError: It is missing.
            ValueError: It has other content; the message names it.
        """
        path = self._directory / shard.file
        if not path.is_file():
            raise FileNotFoundError(f"shard {path} is missing: copy it again or prepare again")
        status = path.stat()
        now = (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        if self._seen.get(shard.file) != now:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != shard.sha256:
                raise ValueError(
                    f"shard {path} is damaged: it has {status.st_size} bytes with SHA-256 "
                    f"{found[:12]}…, expected {shard.bytes} with {shard.sha256[:12]}…; copy it "
                    "again or prepare again"
                )
            self._seen[shard.file] = now
        return str(path)
