"""SavedModels of encoders run without Python, through TensorFlow's C API."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

TEXTS = ["a small house", "", "the red dog"]


@pytest.mark.exhaustive
def test_a_c_program_classifies_texts(
    serve_encoder: Callable[..., Any], serve: Callable[..., list[str]]
) -> None:
    served = serve_encoder("classification")
    wanted = [label.decode() for label in served.run("classify", text=TEXTS)["label"]]
    assert serve(served.path, "serving_default", "text", "label", TEXTS) == wanted


@pytest.mark.exhaustive
def test_a_c_program_classifies_ids_without_tensorflow_text(
    serve_encoder: Callable[..., Any], serve: Callable[..., list[str]]
) -> None:
    served = serve_encoder("classification", "ids")
    ids = np.array([[5, 4, 7], [9, 0, 0]], np.int32)
    wanted = [label.decode() for label in served.run("classify_ids", token_ids=ids)["label"]]
    assert serve(served.path, "classify_ids", "token_ids", "label", ["5 4 7", "9"]) == wanted
