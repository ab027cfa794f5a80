"""`GET /v1/models` lists what is served, beside TensorFlow Serving's `GET /v1/models/NAME`."""

from pathlib import Path
from typing import Any

import pytest

openai = pytest.importorskip("openai", reason="the package openai is not installed")


def test_lists_the_models(client: Any, generating: Any) -> None:
    [model] = client.models.list()
    assert (model.id, model.object) == ("demo", "model") and model.created > 0
    assert generating.get().json()["model_version_status"][0]["state"] == "AVAILABLE"


def test_keys_and_deadlines_are_those_of_all_paths(
    family_artefact: Any, start: Any, ask: Any, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("secret\n", "utf-8")
    keys.chmod(0o600)
    client = ask(start(family_artefact("decoder"), {}, api_key_file=keys, max_source_length=18))
    with pytest.raises(openai.AuthenticationError, match="this API key is not known") as caught:
        client.models.list()
    assert caught.value.code == "invalid_api_key"
    known = client.with_options(api_key="secret")
    assert known.models.list().data[0].id == "demo"
    with pytest.raises(openai.InternalServerError) as late:
        known.completions.create(
            model="demo", prompt="a", extra_headers={"x-request-timeout": "1e-9"}
        )
    assert late.value.status_code == 504


def test_requests_are_counted(client: Any, generating: Any) -> None:
    client.completions.create(model="demo", prompt="a", max_tokens=1)
    with pytest.raises(openai.BadRequestError):
        client.completions.create(model="demo", prompt="a", n=0)
    name = "keras_transformer_requests_total"
    assert generating.metric(name, model="demo", signature="completions", code="OK") >= 1
    assert generating.metric(name, model="demo", code="INVALID_ARGUMENT") >= 1
