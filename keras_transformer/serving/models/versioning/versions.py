"""The versions of a model: the state of each that clients are told, and those that are loaded, with
their users.

The model's directory is checked at intervals: complete new versions that policy or labels select
are loaded, and those that they replace are unloaded.
"""

import asyncio
import copy
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from keras_transformer.artefact.manifest import MANIFEST_FILE
from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, Signature
from keras_transformer.path_kinds import describe_path
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.journal import Journal
from keras_transformer.serving.models.batching import Batcher
from keras_transformer.serving.models.model_options import ModelOptions
from keras_transformer.serving.models.served import Adapting, Served, Streaming
from keras_transformer.serving.models.versioning.directories import Stamp, find_versions, stamp_of
from keras_transformer.serving.models.versioning.freed_memory import return_freed_memory

# A version's number or its label; None for the newest.
Asked = int | str | None
State = Literal["START", "LOADING", "AVAILABLE", "UNLOADING", "END"]
Load = Callable[[Path], Served]


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
        name: The model's name, or that of its adapter.
        number: Its version.
        model: The model.
        batcher: Hands rows to it.
        adapter: The adapter that it has; None for none.
    """

    def __init__(self, name: str, number: int, model: Served, batcher: Batcher) -> None:
        self.name, self.number, self.model, self.batcher = name, number, model, batcher
        self.adapter: str | None = None
        # Copies share them.
        self._users: set[object] = set()
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

    def adapted(self, name: str) -> "LoadedVersion":
        """Returns the version with an adapter of the server's.

        Raises:
            ServingError: The model takes none.
        """
        if not isinstance(self.model, Adapting):
            message = f"{self.name} takes no adapters, got {name!r}: ask for the model itself."
            raise ServingError(Code.INVALID_ARGUMENT, message)
        found = copy.copy(self)
        found.name, found.adapter, found.model = name, name, self.model.adapted(name)
        return found

    @contextmanager
    def use(self) -> Iterator[None]:
        """Keeps the model loaded within the `with` block."""
        user = object()
        self._users.add(user)
        self._unused.clear()
        try:
            yield
        finally:
            self._users.discard(user)
            if not self._users:
                self._unused.set()

    async def close(self) -> None:
        """Waits until the model is no longer in use, then releases it."""
        await self._unused.wait()
        self.batcher.close()
        self.model.close()


class Versions:
    """The versions of one model.

    A directory that is itself an artefact is version 1 and is read once. In a base directory each
    subdirectory whose name is a number is a version. Of the versions that pass verification, those
    that the policy chooses and those with a label are served; the others are unloaded when these
    are ready.

    Args:
        options: The model's name, its directory, its policy and its labels.
        load: Opens an artefact; runs in a thread.
        make_batcher: Makes the batcher that hands rows to this loaded model.
        journal: Records every change.

    Raises:
        FileNotFoundError: The directory is missing, or holds neither an artefact nor versions.
    """

    def __init__(
        self,
        options: ModelOptions,
        load: Load,
        make_batcher: Callable[[Served], Batcher],
        journal: Journal,
    ) -> None:
        self._options, self._load, self._make_batcher = options, load, make_batcher
        self._journal = journal
        self._directory = directory = options.directory
        if not directory.is_dir():
            raise FileNotFoundError(f"{options.name}: there is no directory {directory}.")
        self._is_single = (directory / MANIFEST_FILE).is_file()
        if not self._is_single and not (found := find_versions(directory)).versions:
            raise FileNotFoundError(
                f"{directory} holds neither {MANIFEST_FILE} (an exported artefact) nor directories "
                f"named by version numbers.{found.hint}{describe_path(directory)}"
            )
        self._loaded: dict[int, LoadedVersion] = {}
        self._statuses: dict[int, VersionStatus] = {}
        self._failed: dict[int, Stamp] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._trouble = ""
        self._has_looked = False

    @property
    def is_ready(self) -> bool:
        """Whether a version is loaded and the directory was read once, so that labels resolve."""
        return self._has_looked and bool(self._loaded)

    @property
    def newest(self) -> LoadedVersion | None:
        """The version that serves requests without a number; None if none is loaded."""
        return self._loaded[max(self._loaded)] if self._loaded else None

    @property
    def loaded(self) -> list[LoadedVersion]:
        """All versions that take requests."""
        return list(self._loaded.values())

    def counts(self) -> Counter[str]:
        """Returns what requests had of each other, over all versions."""
        found = Counter[str]()
        for version in self.loaded:
            if isinstance(version.model, Streaming):
                found.update(version.model.counts)
        return found

    def describe(self) -> str:
        """Returns the numbers of the versions that are served, in order."""
        numbers = sorted(self._loaded)
        return f"version{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"

    def get(self, asked: Asked) -> LoadedVersion:
        """Returns a loaded version.

        Raises:
            ServingError: It is not loaded, or there is no such label.
        """
        if asked is None:
            if self.newest is None:
                message = f"No version of {self._options.name} is loaded: try again later."
                raise ServingError(Code.UNAVAILABLE, message)
            return self.newest
        number = self._number(asked)
        if number not in self._loaded:
            raise not_found(self._options.name, asked)
        return self._loaded[number]

    def status(self, asked: Asked = None) -> list[VersionStatus]:
        """Returns one version, or every version seen so far, the newest first.

        Raises:
            ServingError: The version has never been seen, or there is no such label.
        """
        if asked is None:
            return [self._statuses[number] for number in sorted(self._statuses, reverse=True)]
        number = self._number(asked)
        if number not in self._statuses:
            name = self._options.name
            message = f"Could not find any versions of model {name} (version {number})"
            raise ServingError(Code.NOT_FOUND, message)
        return [self._statuses[number]]

    async def watch(self, seconds: float) -> None:
        """Calls `look` forever, with a pause of `seconds` between two calls."""
        while True:
            await self.look()
            await asyncio.sleep(seconds)

    async def look(self) -> None:
        """Loads the versions that are to be served and releases the others.

        Raises:
            Exception: What opening a directory that is itself an artefact raised, such as OSError
                and ValueError.
        """
        if self._is_single:
            if not self._statuses:
                await self._try(1, self._directory, ())
        else:
            await self._look_for_versions()
        self._has_looked = True

    def check_loaded(self) -> None:
        """Checks that the versions to be served have been found and loaded.

        Raises:
            OSError: The directory cannot be read.
            ValueError: A version that the policy or a label names is not served; or none can be
                loaded, and the message names each with the reason.
        """
        for label, number in self._options.labels.items():
            self._check_served(number, f"the label {label!r} names version {number}")
        for number in sorted(self._options.policy.only or ()):
            self._check_served(number, f"version {number} is to be served")
        if not self._loaded:
            reasons = [f"version {status.version}: {status.error}" for status in self.status()]
            raise ValueError(
                f"{self._directory} holds nothing that can be served: "
                f"{'; '.join(reasons) or self._trouble}"
            )

    async def close(self) -> None:
        """Releases every version when it is no longer in use."""
        self._let_go_of_all_but(set())
        await asyncio.gather(*self._closing)

    def _number(self, asked: int | str) -> int:
        """Returns the version that a number or a label means."""
        if isinstance(asked, int):
            return asked
        labels = self._options.labels
        if asked not in labels:
            known = f"its labels are {', '.join(sorted(labels))}" if labels else "it has no labels"
            message = f"Unrecognized servable version label: {self._options.name} has no {asked!r}"
            raise ServingError(Code.NOT_FOUND, f"{message}, {known}.")
        return labels[asked]

    async def _look_for_versions(self) -> None:
        try:
            found = await asyncio.to_thread(find_versions, self._directory)
        except OSError as error:
            # Loaded versions keep serving: a base directory may be away for a moment.
            self._tell_once(f"{type(error).__name__}: {error}")
            return
        self._tell_once(found.hint.strip())
        policy, labelled = self._options.policy, set(self._options.labels.values())
        kept: set[int] = set()
        for number in sorted(found.versions, reverse=True):
            has_room = policy.most is None or len(kept) < policy.most
            is_allowed = policy.only is None or number in policy.only
            if not (is_allowed and has_room or number in labelled):
                continue
            # A version that cannot be loaded is replaced by the next older one.
            if number in self._loaded or await self._try(number, found.versions[number]):
                kept.add(number)
        self._let_go_of_all_but(kept)

    def _check_served(self, number: int, claim: str) -> None:
        if number in self._loaded:
            return
        seen = self._statuses.get(number)
        served = ", ".join(map(str, sorted(self._loaded))) or "none"
        reason = seen.error if seen else f"{self._directory} has no such version"
        hint = describe_path(self._directory / str(number))
        raise ValueError(f"{self._options.name}: {claim}, but {reason}; served: {served}.{hint}")

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
        except Exception as error:
            # Whatever it is, the versions that are loaded keep serving.
            if self._is_single:
                raise
            self._refuse(number, stamp, error)
            return False
        self._failed.pop(number, None)
        name = self._options.name
        self._loaded[number] = LoadedVersion(name, number, model, self._make_batcher(model))
        self._note(number, "AVAILABLE", **model.graphs)
        return True

    def _refuse(self, number: int, stamp: Stamp, error: Exception) -> None:
        is_known = number in self._failed
        self._failed[number] = stamp
        status = VersionStatus(number, "END", f"{type(error).__name__}: {error}")
        if is_known:
            self._statuses[number] = status
        else:
            self._note(number, "END", error=status.error)

    def _let_go_of_all_but(self, kept: set[int]) -> None:
        for number in sorted(self._loaded.keys() - kept):
            task = asyncio.create_task(self._unload(self._loaded.pop(number)))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def _unload(self, version: LoadedVersion) -> None:
        self._note(version.number, "UNLOADING")
        await version.close()
        await asyncio.to_thread(return_freed_memory)
        if version.number not in self._loaded:
            self._note(version.number, "END")

    def _note(self, number: int, state: State, **fields: str | None) -> None:
        """Records a state, and for the log why it is so."""
        self._statuses[number] = VersionStatus(number, state, fields.get("error"))
        self._journal.event(
            "version", model=self._options.name, version=number, state=state, **fields
        )

    def _tell_once(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            if trouble:
                self._journal.event("versions", model=self._options.name, error=trouble)


def not_found(name: str, asked: Asked) -> ServingError:
    """Returns the error for a model, or a version of it, that does not exist."""
    if asked is None:
        request = f"Latest({name})"
    elif isinstance(asked, int):
        request = f"Specific({name}, {asked})"
    else:
        request = f"Label({name}, {asked})"
    return ServingError(Code.NOT_FOUND, f"Servable not found for request: {request}")
