"""`serve`: flags become options, and what is missing or wrong is named."""

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.serving import server
from keras_transformer.serving.settings import ServeOptions


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Any]]:
    """What would be served, instead of a server."""
    calls: list[tuple[Any, Any]] = []
    monkeypatch.setattr(server, "run_server", lambda *given: calls.append(given[:2]))
    return calls


def test_flags_reach_the_server_and_the_search(run_cli, served) -> None:
    flags = (
        "--port 0 --grpc-port 8500 --model-name demo --max-batch 8 --max-wait-ms 2.5 "
        "--no-log-requests --host 0.0.0.0 --versions all --version-labels stable=1 canary=2 "
        "--beam-size 4 --num-hypotheses 2 --max-length 99"
    )
    assert run_cli("serve", "exported/demo", *flags.split()).code == 0
    options = ServeOptions(
        artefact=Path("exported/demo"),
        port=0,
        grpc_port=8500,
        model_name="demo",
        max_batch=8,
        max_wait_ms=2.5,
        log_requests=False,
        host="0.0.0.0",  # noqa: S104
        versions="all",
        version_labels=("stable=1", "canary=2"),
    )
    # What was given and no more: each model adds its own defaults.
    search = {"beam_size": 4, "num_hypotheses": 2, "max_length": 99}
    assert served == [(options, search)]


def test_without_flags_it_listens_on_loopback_only(run_cli, served) -> None:
    run_cli("serve", "exported/demo")
    assert (served[0][0].host, served[0][0].port) == ("127.0.0.1", 8501)


def test_fillings_of_masks_need_no_beams(run_cli, served, tmp_path) -> None:
    config = {"family": "encoder", "head": "masked_lm"}
    (tmp_path / "manifest.json").write_text(json.dumps({"config": config}))
    assert run_cli("serve", tmp_path, "--num-hypotheses", 3).code == 0
    assert served[0][1] == {"num_hypotheses": 3}


def test_errors_of_the_server_name_flags(run_cli, monkeypatch) -> None:
    def refuse(*_: Any) -> None:
        raise ValueError("models of the family 'encoder' do not take beam_size=2, language=de.")

    monkeypatch.setattr(server, "run_server", refuse)
    result = run_cli("serve", "exported/demo")
    assert result.code == 1 and "do not take --beam-size=2, --language=de." in result.err


def test_a_server_may_sample_unless_a_request_says_otherwise(run_cli, served) -> None:
    flags = ["--sample", "--temperature", 0.7, "--top-k", 40, "--top-p", 0.9]
    result = run_cli("serve", "exported/demo", *flags)
    [(_, search)] = served
    assert result.code == 0
    assert search == {"sample": True, "temperature": 0.7, "top_k": 40, "top_p": 0.9}


@pytest.mark.parametrize("flag", ["--stop=x", "--stop-tokens=3", "--seed=1", "--require=x"])
def test_what_is_a_request_s_own_has_no_flags(run_cli, served, flag) -> None:
    result = run_cli("serve", "exported/demo", flag)
    assert (result.code, served) == (2, [])
    assert flag.partition("=")[0] in result.err


def forget(monkeypatch: pytest.MonkeyPatch, *prefixes: str) -> None:
    """Lets modules be imported again, and the first ones be found as before after the test."""
    for name in [name for name in sys.modules if name.startswith(prefixes)]:
        package, _, own = name.rpartition(".")
        if package in sys.modules:
            monkeypatch.setattr(sys.modules[package], own, sys.modules[name])
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize("missing", ["starlette", "uvloop"])
def test_a_missing_package_is_named_with_its_extra(run_cli, monkeypatch, missing) -> None:
    forget(monkeypatch, "keras_transformer.serving.", missing)
    monkeypatch.setitem(sys.modules, missing, None)
    result = run_cli("serve", "exported/demo")
    assert result.code == 1
    assert f"serve needs {missing}" in result.err
    assert 'pip install "keras-seq2seq-transformer[serve]"' in result.err


def test_a_file_of_models_stands_in_place_of_an_artefact(run_cli, served) -> None:
    assert run_cli("serve", "--model-config", "models.config").code == 0
    options, _ = served[0]
    assert (options.artefact, options.model_config) == (None, Path("models.config"))
    result = run_cli("serve", "--model-config", "models.config", "--versions", "all")
    assert (result.code, len(served)) == (1, 1)
    assert "--versions belongs in the file of --model-config: leave it out" in result.err


def test_nothing_to_serve_is_named(run_cli, served) -> None:
    result = run_cli("serve")
    assert (result.code, served) == (2, [])
    assert "missing: artefact, or --model-config" in result.err


def test_a_schema_that_is_not_installed_is_named_with_its_extra(
    run_cli, monkeypatch, tmp_path
) -> None:
    forget(monkeypatch, "keras_transformer.serving.models.model_config", "tensorflow_serving")
    monkeypatch.setitem(sys.modules, "tensorflow_serving", None)
    result = run_cli("serve", "--model-config", tmp_path / "models.config")
    assert result.code == 1
    assert "--model-config needs tensorflow_serving" in result.err
    assert 'pip install "keras-seq2seq-transformer[grpc]"' in result.err


def test_a_directory_without_a_model_is_one_line(run_cli, tmp_path) -> None:
    signals = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = list(map(signal.getsignal, signals))
    result = run_cli("serve", tmp_path, "--port", 0)
    assert result.code == 1
    message = "holds neither manifest.json (an exported artefact) nor directories named by version "
    assert f"{message}numbers. {tmp_path} is empty." in result.err.splitlines()[-1]
    assert list(map(signal.getsignal, signals)) == before
