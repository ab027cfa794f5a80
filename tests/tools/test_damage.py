"""Damaged models of others and damaged manifests are refused with the file's name, or harmless."""

from collections.abc import Callable
from typing import Any

import pytest

from tools.damage.changes import damage_manifest
from tools.damage.fuzzing import fuzz, fuzz_imports, fuzz_manifests, fuzz_runs
from tools.damage.readers import answers


def check(found: dict[Any, list[str]]) -> None:
    others = {key: done[0] for key, done in found.items() if key[0] not in PLAIN}
    assert not others
    # Most damage is seen, and some of it means nothing.
    assert len(found["refused", ""]) > len(found.get(("other", ""), ()))


PLAIN = ("refused", "same", "other")


def test_damage_of_models_is_told_by_the_name_of_the_file() -> None:
    check(fuzz_imports(150, seed=0))


def test_damage_of_a_manifest_is_told_by_the_name_of_the_file(exported: Any) -> None:
    check(fuzz([exported.path], answers, 80, seed=0, change=damage_manifest))


def test_damage_of_a_run_is_told_by_the_name_of_the_file() -> None:
    check(fuzz_runs(150, seed=0))


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("fuzzer", "count"), [(fuzz_imports, 5000), (fuzz_manifests, 2000), (fuzz_runs, 5000)]
)
def test_much_more_damage(fuzzer: Callable[..., Any], count: int) -> None:
    check(fuzzer(count, seed=1))


@pytest.mark.exhaustive
def test_models_of_damaged_files_are_built_or_refused() -> None:
    check(fuzz_imports(400, seed=2, build=True))
    check(fuzz_runs(400, seed=2, load=True))
