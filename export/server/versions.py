"""Which versions of the model are loaded: a directory is looked at again and again, the newest
version that is whole is loaded beside the old one and takes its place.
"""

import asyncio
import dataclasses
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ..manifest import MANIFEST_FILE
from .batching import Batcher
from .errors import Code, ServingError
from .journal import Journal
from .model import ServedModel

State = Literal["START", "LOADING", "AVAILABLE", "UNLOADING", "END"]
Load = Callable[[Path], ServedModel]
# A directory's files with their sizes and times: what failed is tried again when these change.
Stamp = tuple[tuple[str, int, int], ...]

_SAVED_MODEL_FILE = "saved_model.pb"
_VERSION_NAME = re.compile(r"[0-9]+")


@dataclasses.dataclass(frozen=True)
class VersionStatus:
    """How it stands with one version of the model.

    Attributes:
        version: Its number.
        state: As in TensorFlow Serving.
        error: Why it could not be loaded; None where nothing went wrong.
    """

    version: int
    state: State
    error: str | None = None


class LoadedVersion:
    """A model that takes requests.

    Attributes:
        number: Its version.
        model: The model.
        batcher: What brings rows to it.
    """

    def __init__(self, number: int, model: ServedModel, batcher: Batcher) -> None:
        self.number, self.model, self.batcher = number, model, batcher
        self._users = 0
        self._unused = asyncio.Event()
        self._unused.set()

    @contextmanager
    def use(self) -> Iterator[None]:
        """Keeps the model loaded within."""
        self._users += 1
        self._unused.clear()
        try:
            yield
        finally:
            self._users -= 1
            if not self._users:
                self._unused.set()

    async def close(self) -> None:
        """Waits for its users, then lets go of the model."""
        await self._unused.wait()
        self.batcher.close()
        self.model.close()


class Versions:
    """The versions of one model.

    A directory that is itself an artefact is version 1 and is read once. In a base directory each
    subdirectory whose name is a number is a version; the newest that verifies is served, and the
    others are unloaded when it is ready.

    Args:
        directory: The artefact or the base directory.
        load: Opens an artefact; runs in a thread.
        make_batcher: Makes what brings rows to a loaded model.
        journal: Told of every change.

    Raises:
        FileNotFoundError: The directory is missing, or holds neither an artefact nor versions.
    """

    def __init__(
        self,
        directory: Path,
        load: Load,
        make_batcher: Callable[[], Batcher],
        journal: Journal,
    ) -> None:
        self._directory, self._load, self._make_batcher = directory, load, make_batcher
        self._journal = journal
        self._is_single = (directory / MANIFEST_FILE).is_file()
        if not self._is_single and not find_versions(directory):
            raise FileNotFoundError(
                f"{directory} holds neither {MANIFEST_FILE} (an exported artefact) nor directories "
                f"named by version numbers.{_hint(directory)}"
            )
        self._loaded: dict[int, LoadedVersion] = {}
        self._statuses: dict[int, VersionStatus] = {}
        self._failed: dict[int, Stamp] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._trouble = ""

    @property
    def newest(self) -> LoadedVersion | None:
        """The version that serves requests without a number; None where none is loaded."""
        return self._loaded[max(self._loaded)] if self._loaded else None

    @property
    def loaded(self) -> list[LoadedVersion]:
        """All versions that take requests."""
        return list(self._loaded.values())

    def get(self, version: int | None, name: str) -> LoadedVersion:
        """Returns a loaded version, the newest where None.

        Args:
            version: Its number.
            name: The model's name, for the message.

        Raises:
            ServingError: It is not loaded.
        """
        found = self.newest if version is None else self._loaded.get(version)
        if found is not None:
            return found
        if version is None:
            message = f"No version of {name} is loaded: try again later."
            raise ServingError(Code.UNAVAILABLE, message)
        message = f"Servable not found for request: Specific({name}, {version})"
        raise ServingError(Code.NOT_FOUND, message)

    def status(self) -> list[VersionStatus]:
        """Returns every version seen so far, the newest first, as TensorFlow Serving does."""
        return [self._statuses[number] for number in sorted(self._statuses, reverse=True)]

    async def watch(self, seconds: float) -> None:
        """Looks for versions forever, with a pause of so many seconds between two looks."""
        while True:
            await self.look()
            await asyncio.sleep(seconds)

    async def look(self) -> None:
        """Loads the newest version that can be loaded and lets go of the others.

        Raises:
            OSError: A directory that is itself an artefact cannot be loaded.
            ValueError: As for OSError.
        """
        if self._is_single:
            if not self._statuses:
                await self._try(1, self._directory, ())
            return
        try:
            found = await asyncio.to_thread(find_versions, self._directory)
        except OSError as error:
            # What is loaded keeps serving: a base directory may be away for a moment.
            self._tell_once(f"{type(error).__name__}: {error}")
            return
        self._trouble = ""
        for number in sorted(found, reverse=True):
            if number in self._loaded or await self._try(number, found[number]):
                self._let_go_of_all_but(number)
                return
        self._let_go_of_all_but(None)

    def check_loaded(self) -> None:
        """Checks that the looks so far have found a version to serve.

        Raises:
            OSError: The directory cannot be read.
            ValueError: None can be loaded; the message names each with the reason.
        """
        if self._loaded:
            return
        reasons = [f"version {status.version}: {status.error}" for status in self.status()]
        hints = {_hint(path) for path in find_versions(self._directory).values()}
        raise ValueError(
            f"{self._directory} holds nothing that can be served: "
            f"{'; '.join(reasons) or self._trouble}{''.join(sorted(hints))}"
        )

    async def close(self) -> None:
        """Lets go of every version when its users are done."""
        self._let_go_of_all_but(None)
        await asyncio.gather(*self._closing)

    async def _try(self, number: int, path: Path, stamp: Stamp | None = None) -> bool:
        """Loads a version; returns whether it can take requests."""
        if stamp is None:
            stamp = await asyncio.to_thread(stamp_of, path)
            if self._failed.get(number) == stamp:
                return False
        if number not in self._failed:
            self._note(number, "LOADING")
        try:
            model = await asyncio.to_thread(self._load, path)
        except (OSError, ValueError) as error:
            if self._is_single:
                raise
            self._refuse(number, stamp, error)
            return False
        self._failed.pop(number, None)
        self._loaded[number] = LoadedVersion(number, model, self._make_batcher())
        self._note(number, "AVAILABLE")
        return True

    def _refuse(self, number: int, stamp: Stamp, error: Exception) -> None:
        is_known = number in self._failed
        self._failed[number] = stamp
        status = VersionStatus(number, "END", f"{type(error).__name__}: {error}")
        if is_known:
            self._statuses[number] = status
        else:
            self._note(number, "END", status.error)

    def _let_go_of_all_but(self, kept: int | None) -> None:
        for number in [number for number in self._loaded if number != kept]:
            task = asyncio.create_task(self._unload(self._loaded.pop(number)))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _unload(self, version: LoadedVersion) -> None:
        self._note(version.number, "UNLOADING")
        await version.close()
        if version.number not in self._loaded:
            self._note(version.number, "END")

    def _note(self, number: int, state: State, error: str | None = None) -> None:
        self._statuses[number] = VersionStatus(number, state, error)
        fields = {"error": error} if error else {}
        self._journal.event("version", version=number, state=state, **fields)

    def _tell_once(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            self._journal.event("versions", error=trouble)


def find_versions(directory: Path) -> dict[int, Path]:
    """Returns the version directories by number.

    Raises:
        OSError: The directory cannot be read.
    """
    return {
        int(path.name): path
        for path in directory.iterdir()
        if _VERSION_NAME.fullmatch(path.name) and path.is_dir()
    }


def _hint(directory: Path) -> str:
    """Returns what to do about a directory of another kind; "" where nothing is known of it."""
    if not (directory / _SAVED_MODEL_FILE).is_file():
        return ""
    return (
        f" {directory} is a TensorFlow SavedModel, which TensorFlow Serving serves: this server "
        "needs an artefact from `keras-transformer export RUN --format onnx`."
    )


def stamp_of(directory: Path) -> Stamp:
    """Returns what tells whether a directory's files have changed; () where it has gone."""
    try:
        states = [(path.name, path.stat()) for path in sorted(directory.iterdir())]
    except OSError:
        return ()
    return tuple((name, state.st_size, state.st_mtime_ns) for name, state in states)
