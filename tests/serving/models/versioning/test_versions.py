"""Which versions are loaded: those that the policy chooses, exchanged while requests go on."""

import asyncio
import dataclasses
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.journal import Journal
from keras_transformer.serving.models.batching import Batcher
from keras_transformer.serving.models.model_options import ModelOptions, VersionPolicy
from keras_transformer.serving.models.versioning.versions import Versions


@dataclasses.dataclass
class Model:
    """A directory that holds a file "whole"."""

    path: Path
    is_closed: bool = False
    graphs = {"target": "native"}

    def close(self) -> None:
        self.is_closed = True


class Base:
    """A base directory, its versions, and what happened to them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = io.StringIO()
        self.loads: list[str] = []
        self.models: list[Model] = []
        self.error: type[Exception] = ValueError

    def add(self, number: object, content: str = "whole") -> Path:
        directory = self.path / str(number)
        directory.mkdir(exist_ok=True)
        (directory / "model").write_text(content)
        return directory

    def load(self, path: Path) -> Any:
        self.loads.append(path.name)
        if (path / "model").read_text() != "whole":
            raise self.error("half of it is missing")
        self.models.append(Model(path))
        return self.models[-1]

    def events(self) -> list[tuple[int, str]]:
        lines = map(json.loads, self.log.getvalue().splitlines())
        return [(line["version"], line["state"]) for line in lines if "version" in line]

    def run(self, work: Callable[[Versions], Any], policy: str = "latest", **labels: int) -> None:
        """Runs a coroutine function on the versions, and lets go of them."""
        options = ModelOptions("demo", self.path, VersionPolicy.parse(policy), labels)

        def make_batcher(model: Any) -> Batcher:
            return Batcher(max_batch=1, max_wait=0, max_queue=1, observe=lambda _: None)

        async def inside() -> None:
            versions = Versions(options, self.load, make_batcher, Journal(stream=self.log))
            await work(versions)
            await versions.close()

        asyncio.run(inside())


@pytest.fixture
def base(tmp_path: Path) -> Base:
    return Base(tmp_path)


def served(versions: Versions) -> list[int]:
    return sorted(version.number for version in versions.loaded)


def newest(versions: Versions) -> int | None:
    return versions.newest.number if versions.newest else None


def test_the_newest_is_served_and_older_ones_are_not_loaded(base) -> None:
    base.add(2), base.add(10), base.add("3.tmp"), base.add("readme")

    async def work(versions: Versions) -> None:
        await versions.look()
        await versions.look()
        assert newest(versions) == 10
        with pytest.raises(ServingError, match=r"Specific\(demo, 2\)") as error:
            versions.get(2)
        assert error.value.code is Code.NOT_FOUND

    base.run(work)
    assert base.loads == ["10"]


def test_a_newer_version_takes_over_when_it_is_ready_and_the_old_one_finishes(base) -> None:
    base.add(1)

    async def work(versions: Versions) -> None:
        await versions.look()
        old = versions.get(None)
        with old.use():
            base.add(2)
            await versions.look()
            assert newest(versions) == 2
            await asyncio.sleep(0.05)
            assert not base.models[0].is_closed
            states = {status.version: status.state for status in versions.status()}
            assert states == {1: "UNLOADING", 2: "AVAILABLE"}
        await asyncio.sleep(0.05)
        assert base.models[0].is_closed and not base.models[1].is_closed
        assert [status.state for status in versions.status()] == ["AVAILABLE", "END"]

    base.run(work)
    assert base.events()[:6] == [
        (1, "LOADING"),
        (1, "AVAILABLE"),
        (2, "LOADING"),
        (2, "AVAILABLE"),
        (1, "UNLOADING"),
        (1, "END"),
    ]
    assert all(model.is_closed for model in base.models)


# Operators that are not compiled where they are needed are an ImportError; onnxruntime and a
# damaged manifest raise errors of other kinds.
@pytest.mark.parametrize("error", [ValueError, ImportError, MemoryError, RuntimeError])
def test_a_broken_version_is_named_once_and_the_old_one_keeps_serving(base, error) -> None:
    base.error = error
    base.add(1)

    async def work(versions: Versions) -> None:
        await versions.look()
        base.add(2, "half")
        for _ in range(3):
            await versions.look()
            assert newest(versions) == 1
        # Nothing changed, so it is not read again.
        assert base.loads == ["1", "2"]
        [status, _] = versions.status()
        assert (status.version, status.state) == (2, "END")
        assert status.error == f"{error.__name__}: half of it is missing"
        base.add(2, "still only half")
        await versions.look()
        assert (newest(versions), base.loads) == (1, ["1", "2", "2"])
        base.add(2)
        await versions.look()
        assert newest(versions) == 2

    base.run(work)
    assert base.events().count((2, "END")) == 2  # Broken once, unloaded at the end.
    assert base.log.getvalue().count("half of it is missing") == 1


def test_an_older_version_serves_where_the_newest_is_broken(base) -> None:
    base.add(1), base.add(2), base.add(3, "half")

    async def work(versions: Versions) -> None:
        await versions.look()
        assert newest(versions) == 2

    base.run(work)
    assert base.loads == ["3", "2"]


def test_a_version_that_is_removed_gives_way_to_the_one_before_or_to_none(base) -> None:
    base.add(1)
    gone = base.add(2)

    async def work(versions: Versions) -> None:
        await versions.look()
        (gone / "model").unlink()
        gone.rmdir()
        await versions.look()
        assert newest(versions) == 1
        (base.path / "1" / "model").unlink()
        (base.path / "1").rmdir()
        await versions.look()
        with pytest.raises(ServingError, match="No version of demo is loaded") as error:
            versions.get(None)
        assert error.value.code is Code.UNAVAILABLE
        base.add(1)
        await versions.look()
        assert newest(versions) == 1

    base.run(work)


def test_a_base_directory_that_is_away_changes_nothing(base, tmp_path) -> None:
    base.path = tmp_path / "base"
    base.path.mkdir()
    base.add(1)

    async def work(versions: Versions) -> None:
        await versions.look()
        base.path.rename(tmp_path / "away")
        for _ in range(3):
            await versions.look()
        assert newest(versions) == 1

    base.run(work)
    assert base.log.getvalue().count("FileNotFoundError") == 1


def test_a_directory_whose_number_is_too_large_is_ignored_and_named_once(base) -> None:
    largest, larger = 2**63 - 1, "1" * 20
    base.add(largest), base.add(2**63), base.add(larger), base.add("9" * 200)

    async def work(versions: Versions) -> None:
        for _ in range(3):
            await versions.look()
        assert served(versions) == [largest]

    base.run(work, "all")
    assert base.loads == [str(largest)]
    [line] = [line for line in base.log.getvalue().splitlines() if "Ignored" in line]
    assert str(2**63) in line and larger in line and f"at most {largest}" in line


def test_directories_whose_numbers_are_too_large_are_no_versions(base) -> None:
    base.add(2**63)
    with pytest.raises(
        FileNotFoundError,
        match=rf"directories named by version numbers\. Ignored.* {2**63 - 1}: {2**63}\.",
    ):
        base.run(Versions.look)


def test_a_directory_that_is_an_artefact_is_version_1_and_read_once(base) -> None:
    (base.path / "manifest.json").write_text("{}")
    (base.path / "model").write_text("whole")
    base.add(7)

    async def work(versions: Versions) -> None:
        for _ in range(2):
            await versions.look()
        assert newest(versions) == 1

    base.run(work)
    assert base.loads == [base.path.name]


def test_an_artefact_alone_that_is_broken_is_an_error(base) -> None:
    (base.path / "manifest.json").write_text("{}")
    (base.path / "model").write_text("half")

    async def work(versions: Versions) -> None:
        with pytest.raises(ValueError, match="half of it is missing"):
            await versions.look()

    base.run(work)


def test_a_directory_that_is_missing_is_refused_by_model(base) -> None:
    base.path /= "nowhere"
    with pytest.raises(FileNotFoundError, match="demo: there is no directory .*nowhere"):
        base.run(None)


def test_a_directory_of_something_else_is_refused(base) -> None:
    with pytest.raises(FileNotFoundError, match="neither manifest.json"):
        base.run(None)


def test_no_version_that_can_be_loaded_is_an_error_that_names_each(base) -> None:
    base.add(1, "half"), base.add(2, "half")

    async def work(versions: Versions) -> None:
        await versions.look()
        with pytest.raises(ValueError, match=r"version 2: .* missing; version 1: .* missing"):
            versions.check_loaded()
        base.add(2)
        await versions.look()
        versions.check_loaded()

    base.run(work)


def test_a_saved_model_alone_is_refused_by_name(base) -> None:
    (base.path / "saved_model.pb").touch()
    with pytest.raises(FileNotFoundError, match="is a SavedModel"):
        base.run(None)


def test_a_training_run_is_refused_with_the_command_that_exports_it(base) -> None:
    (base.path / "model.keras").touch()
    with pytest.raises(FileNotFoundError, match=r"export it first, with `keras-transformer export"):
        base.run(None)


@pytest.mark.parametrize(
    ("policy", "labels", "expected"),
    [
        ("latest", {}, [4]),
        ("latest:2", {}, [2, 4]),  # 3 is broken: it leaves its place to the next older one.
        ("latest:9", {}, [1, 2, 4]),
        ("all", {}, [1, 2, 4]),
        ("1,2", {}, [1, 2]),
        ("latest", {"stable": 1}, [1, 4]),
        ("latest", {"stable": 4}, [4]),
        ("1,2", {"stable": 1, "canary": 2}, [1, 2]),
    ],
)
def test_the_policy_and_the_labels_choose_what_is_served_at_once(
    base, policy, labels, expected
) -> None:
    base.add(1), base.add(2), base.add(3, "half"), base.add(4)

    async def work(versions: Versions) -> None:
        await versions.look()
        await versions.look()
        versions.check_loaded()
        assert served(versions) == expected
        assert newest(versions) == max(expected)
        for label, number in labels.items():
            assert versions.get(label).number == number
            assert [status.version for status in versions.status(label)] == [number]

    base.run(work, policy, **labels)
    assert len(set(base.loads)) == len(base.loads)


def test_a_labelled_version_stays_when_newer_ones_come(base) -> None:
    base.add(1)

    async def work(versions: Versions) -> None:
        for number in (1, 2, 3):
            base.add(number)
            await versions.look()
        assert served(versions) == [1, 3]
        assert versions.get("stable").number == 1

    base.run(work, stable=1)


@pytest.mark.parametrize(
    ("labels", "known"),
    [({}, "it has no labels"), ({"stable": 1, "canary": 1}, "its labels are canary, stable")],
)
@pytest.mark.parametrize("ask", ["get", "status"])
def test_an_unknown_label_is_refused_with_those_there_are(base, labels, known, ask) -> None:
    base.add(1)

    async def work(versions: Versions) -> None:
        await versions.look()
        with pytest.raises(ServingError, match=f"demo has no 'next', {known}") as error:
            getattr(versions, ask)("next")
        assert error.value.code is Code.NOT_FOUND

    base.run(work, **labels)


def test_a_label_whose_version_has_gone_is_not_found(base) -> None:
    gone = base.add(1)
    base.add(2)

    async def work(versions: Versions) -> None:
        await versions.look()
        (gone / "model").unlink()
        gone.rmdir()
        await versions.look()
        with pytest.raises(ServingError, match=r"Label\(demo, stable\)") as error:
            versions.get("stable")
        assert error.value.code is Code.NOT_FOUND

    base.run(work, stable=1)


def test_it_is_ready_when_all_of_its_versions_are(base) -> None:
    base.add(1), base.add(2)
    load = base.load
    readiness = []

    async def work(versions: Versions) -> None:
        def watched(path: Path) -> Any:
            readiness.append(versions.is_ready)
            return load(path)

        versions._load = watched
        await versions.look()
        assert versions.is_ready

    base.run(work, "all")
    assert readiness == [False, False]


@pytest.mark.parametrize(
    ("policy", "labels", "message"),
    [
        ("latest", {"stable": 7}, "the label 'stable' names version 7, but .* has no such version"),
        ("latest", {"stable": 2}, "label 'stable' names version 2, but ValueError: half of it"),
        ("1,7", {}, "version 7 is to be served, but .* has no such version; served: 1"),
        ("7", {}, "version 7 is to be served, but .* has no such version; served: none"),
        ("1,2", {}, "version 2 is to be served, but ValueError: half of it .*; served: 1"),
    ],
)
def test_a_version_that_is_named_and_cannot_be_served_is_an_error(
    base, policy, labels, message
) -> None:
    base.add(1), base.add(2, "half")

    async def work(versions: Versions) -> None:
        await versions.look()
        with pytest.raises(ValueError, match=f"demo: .*{message}"):
            versions.check_loaded()

    base.run(work, policy, **labels)
