"""Providers are checked with what this onnxruntime has and with what an artefact's graphs allow."""

from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from keras_transformer.export import Manifest, OnnxTranslator
from keras_transformer.runtime.onnx_graphs import sessions
from keras_transformer.runtime.onnx_graphs.providers import CPU, check_providers, parse_providers

ELSEWHERE = "CUDAExecutionProvider"


@pytest.fixture
def two_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An onnxruntime that says to have one provider beside the CPU's."""
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [ELSEWHERE, CPU])


def test_the_cpu_is_the_default(exported_native: Any) -> None:
    assert check_providers(None, Manifest.read(exported_native.path)) == [(CPU, {})]


def test_providers_and_options_reach_the_sessions(
    exported_portable: Any, two_providers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = []

    def refuse(graph: bytes, options: Any, providers: Any, weights: Any) -> None:
        opened.append(providers)
        raise RuntimeError("no such device")

    monkeypatch.setattr(sessions, "Session", refuse)
    given = [(ELSEWHERE, {"device_id": 9}), CPU]
    with pytest.raises(ValueError, match=f"cannot open .*encoder.onnx with {ELSEWHERE} .*9.*such"):
        OnnxTranslator(exported_portable.path, providers=given)
    assert opened == [[(ELSEWHERE, {"device_id": 9}), (CPU, {})]]


def test_translations_are_those_of_the_default(exported: Any, texts: list[str]) -> None:
    expected = OnnxTranslator(exported.path).translate(texts, beam_size=3)
    assert OnnxTranslator(exported.path, providers=[CPU]).translate(texts, beam_size=3) == expected


def test_a_provider_that_is_not_there_is_named_with_those_that_are(exported_portable: Any) -> None:
    with pytest.raises(ValueError, match=f"no '{ELSEWHERE}', only .*{CPU}.*onnxruntime-gpu"):
        OnnxTranslator(exported_portable.path, providers=[ELSEWHERE, CPU])


def test_an_unknown_provider_names_no_package(exported_portable: Any) -> None:
    with pytest.raises(ValueError, match="no 'GPU', only .*: choose one of these, or install a"):
        OnnxTranslator(exported_portable.path, providers=["GPU"])


@pytest.mark.parametrize("target", ["exported", "exported_native"])
def test_operators_of_the_cpu_stay_on_the_cpu(
    request: pytest.FixtureRequest, two_providers: None, target: str
) -> None:
    manifest = Manifest.read(request.getfixturevalue(target).path)
    with pytest.raises(ValueError, match=f"{manifest.target}.*{ELSEWHERE}.*--target portable"):
        check_providers([ELSEWHERE, CPU], manifest)


def test_standard_operators_may_run_elsewhere(exported_portable: Any, two_providers: None) -> None:
    manifest = Manifest.read(exported_portable.path)
    given = [(ELSEWHERE, {"device_id": 1}), CPU]
    assert check_providers(given, manifest) == [(ELSEWHERE, {"device_id": 1}), (CPU, {})]


def test_a_provider_that_does_not_start_is_an_error(
    exported_portable: Any, two_providers: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_graph = sessions.Session

    def fall_back(graph: bytes, options: Any, providers: Any, weights: Any) -> sessions.Session:
        return open_graph(graph, options, [CPU], weights)

    monkeypatch.setattr(sessions, "Session", fall_back)
    with pytest.raises(ValueError, match=f"{ELSEWHERE} did not start: check its driver"):
        OnnxTranslator(exported_portable.path, providers=[ELSEWHERE])


@pytest.mark.parametrize("wrong", [CPU, {CPU: {}}, 3, [3], [(CPU,)], [(CPU, "options")]])
def test_other_types_are_refused(exported_portable: Any, wrong: Any) -> None:
    with pytest.raises(TypeError, match="providers must (be a list of|hold) names"):
        OnnxTranslator(exported_portable.path, providers=wrong)


@pytest.mark.parametrize(("wrong", "reason"), [([], "at least one"), ([CPU, CPU], "only once")])
def test_none_and_twice_are_refused(exported_portable: Any, wrong: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        OnnxTranslator(exported_portable.path, providers=wrong)


def test_flags_become_names_and_options() -> None:
    assert parse_providers([]) is None
    assert parse_providers(["A:b=c,d=e=f", "B"]) == [("A", {"b": "c", "d": "e=f"}), "B"]


@pytest.mark.parametrize("flag", ["A:", "A:b", "A:b=", "A:=c", "A:b=c,"])
def test_an_option_without_a_value_is_refused(flag: str) -> None:
    with pytest.raises(ValueError, match=f"--provider expects .*got '{flag}'"):
        parse_providers([flag])


def test_the_server_opens_models_with_its_providers(exported_portable: Any) -> None:
    from served_models import open_served

    with pytest.raises(ValueError, match=f"no '{ELSEWHERE}'"):
        open_served(Path(exported_portable.path), provider=(ELSEWHERE,))
