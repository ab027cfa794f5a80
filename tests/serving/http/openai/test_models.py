"""`GET /v1/models` lists what is served, beside TensorFlow Serving's `GET /v1/models/NAME`."""

from typing import Any


def test_lists_the_models(client: Any, generating: Any) -> None:
    [model] = client.models.list()
    assert (model.id, model.object) == ("demo", "model") and model.created > 0
    assert generating.get().json()["model_version_status"][0]["state"] == "AVAILABLE"
