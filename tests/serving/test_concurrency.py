"""Whatever comes together, each request gets what the translator gives it alone."""

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

WORDS = "the red dog runs to house we see three birds hello river blue you buy a book".split()
# Of at most four pieces a word: below the limit of 40 tokens.
TEXTS = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
REQUESTS = st.lists(
    st.tuples(
        st.sampled_from(["serving_default", "score", "translate_with_options"]),
        st.lists(TEXTS, min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=12,
)


@given(requests=REQUESTS, seed=st.integers(0, 99))
@settings(max_examples=8)
def test_any_mix_of_concurrent_requests_gives_what_each_gives_alone(
    server, translator, search, requests: Any, seed: int
) -> None:
    choose = random.Random(seed)  # noqa: S311
    bodies = [(name, [row(name, text, choose) for text in texts]) for name, texts in requests]

    def ask(body: tuple[str, list[dict]]) -> list[dict]:
        response = server.predict({"signature_name": body[0], "instances": body[1]})
        assert response.status_code == 200, response.text
        return response.json()["predictions"]

    with ThreadPoolExecutor(len(bodies)) as pool:
        found = list(pool.map(ask, bodies))
    for (name, rows), predictions in zip(bodies, found, strict=True):
        for given_row, prediction in zip(rows, predictions, strict=True):
            assert prediction == pytest.approx(alone(translator, search, name, given_row), abs=1e-4)


def row(name: str, text: str, choose: random.Random) -> dict[str, Any]:
    if name == "score":
        return {"source": text, "target": " ".join(choose.sample(WORDS, 3))}
    if name == "serving_default":
        return {"text": text}
    return {
        "text": text,
        "max_length": choose.randint(1, 9),
        "length_penalty": choose.choice([0.0, 0.5, 1.0]),
        "target_prefix": "",
    }


def alone(translator: Any, search: dict, name: str, row: dict[str, Any]) -> dict[str, Any]:
    if name == "score":
        [one] = translator.score([row["source"]], [row["target"]])
        return {"score": one.score, "log_probability": one.log_probability}
    options = {key: row[key] for key in ("max_length", "length_penalty") if key in row}
    [[best, *_]] = translator.translate_n_best([row["text"]], **{**search, **options})
    return {"translation": best.text, "score": best.score}
