"""Answers with many numbers: others need not wait for them, and the largest are refused."""

import asyncio
import json
import threading
from typing import Any

import numpy as np
import pytest

from keras_transformer.artefact.search_signatures import AnswerSizes, text_signatures
from keras_transformer.serving.http.json_tensors import write_outputs
from keras_transformer.serving.models import outputs as outputs_file
from keras_transformer.serving.models.outputs import written

ENCODE = text_signatures(AnswerSizes(model_dim=8))["encode"]
SEND = "send the longest ones in requests of their own, or fewer at once"


def states(rows: int, length: int) -> dict[str, np.ndarray]:
    values = np.random.default_rng(1).normal(size=(rows, length, 8)).astype(np.float32)
    return {"encoder_states": values, "mask": np.ones((rows, length), bool)}


def test_short_texts_do_not_take_the_room_of_a_long_one_beyond_the_limit(start, exported) -> None:
    server = start(exported.path, max_source_length=1000)
    long, short = "hello " * 600, "hello"
    body = {"signature_name": "encode", "instances": [long] + [short] * 255}
    assert len(json.dumps(body)) < 7000
    response = server.predict(body)
    assert response.status_code == 400
    error = response.json()["error"]
    assert "would have 256 texts x " in error
    assert " tokens x 32 values = " in error and "more than the limit of 4194304" in error
    assert SEND in error
    for texts in ([long], [short] * 255):
        assert server.predict({**body, "instances": texts}).status_code == 200


@pytest.mark.parametrize(
    ("signature", "sizes"),
    [("translate_sentences", "2 texts x 3 sentences x "), ("encode", "2 texts x ")],
)
def test_the_limit_holds_for_all_that_is_padded(
    start, exported, monkeypatch: pytest.MonkeyPatch, signature: str, sizes: str
) -> None:
    monkeypatch.setattr(outputs_file, "MOST_NUMBERS", 8)
    texts = ["Hello. Hello. The red dog runs.", "hello"]
    response = start(exported.path).predict({"signature_name": signature, "instances": texts})
    assert response.status_code == 400
    assert sizes in response.json()["error"] and SEND in response.json()["error"]


@pytest.mark.parametrize(("rows", "is_aside"), [(2, False), (300, True)])
def test_only_large_answers_are_written_in_a_thread(rows: int, is_aside: bool) -> None:
    answer = asyncio.run(written(states(rows, 10), threading.get_ident))
    assert (answer != threading.get_ident()) == is_aside


@pytest.mark.parametrize("is_row", [True, False])
def test_a_large_answer_is_encoded_in_small_parts(
    monkeypatch: pytest.MonkeyPatch, is_row: bool
) -> None:
    # While the encoder is at work, no other thread is.
    encode, parts = json.JSONEncoder.encode, []

    def noted(self: json.JSONEncoder, value: Any) -> str:
        parts.append(encode(self, value))
        return parts[-1]

    monkeypatch.setattr(json.JSONEncoder, "encode", noted)
    given = states(20, 100)
    body = write_outputs(given, ENCODE, is_row=is_row)
    assert len(body) > 200_000 and max(map(len, parts)) < 1000
    answer = json.loads(body)
    if is_row:
        rows = answer["predictions"]
        found = {name: [row[name] for row in rows] for name in given}
    else:
        found = answer["outputs"]
    assert found == {name: array.tolist() for name, array in given.items()}
