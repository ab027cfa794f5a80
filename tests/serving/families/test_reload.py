"""Versions and models of several kinds behind one server."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests


def test_a_new_version_may_be_of_another_kind(
    start: Callable[..., Any], family_artefact: Callable[[Any], Path], tmp_path: Path
) -> None:
    shutil.copytree(family_artefact("classification"), tmp_path / "1")
    server = start(tmp_path)
    assert "label" in server.predict({"instances": ["hello"]}).json()["predictions"][0]
    shutil.copytree(family_artefact("decoder"), tmp_path / ".2")
    (tmp_path / ".2").rename(tmp_path / "2")
    until = time.monotonic() + 20
    while server.get("/versions/2").status_code != 200 and time.monotonic() < until:
        time.sleep(0.05)
    while time.monotonic() < until:
        [row] = server.predict({"instances": ["hello"]}).json()["predictions"]
        if "text" in row:
            break
    assert row["text"].startswith("hello")


def test_kinds_stand_beside_each_other(
    start: Callable[..., Any], family_artefact: Callable[[Any], Path], exported: Any, tmp_path: Path
) -> None:
    pytest.importorskip("tensorflow_serving", reason="[grpc]")
    artefacts = {
        "labels": family_artefact("classification"),
        "gpt": family_artefact("decoder"),
        "demo": exported.path,
    }
    entries = "".join(
        f'config {{ name: "{name}" base_path: "{path}" }}\n' for name, path in artefacts.items()
    )
    (tmp_path / "models").write_text(f"model_config_list {{\n{entries}}}\n")
    server = start(model_config=tmp_path / "models")
    outputs = {}
    for name in artefacts:
        url = f"{server.rest_url}/v1/models/{name}:predict"
        outputs[name] = requests.post(url, json={"instances": ["hello"]}, timeout=60).json()
    assert [set(one["predictions"][0]) for one in outputs.values()] == [
        {"label", "probability", "labels", "probabilities"},
        {"text", "score"},
        {"translation", "score"},
    ]
    described = requests.get(f"{server.rest_url}/openapi.json", timeout=60).json()
    endings = {path.rpartition(":")[2] for path in described["paths"] if ":" in path}
    assert {"predict", "stream", "explain", "classify"} <= endings
    requests_schema = described["components"]["schemas"]["PredictRequest"]
    titles = {one["title"] for one in requests_schema["anyOf"]}
    assert {"classify, rows", "generate, rows", "translate_ids, rows"} <= titles
