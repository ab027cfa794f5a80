"""Whatever a request holds, every row has a defined answer, which the other rows do not change."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

LOWEST = np.finfo(np.float32).min
ROWS = st.lists(
    st.lists(st.integers(4, 59), max_size=12).map(lambda row: [*row, 0]), min_size=1, max_size=5
)


@settings(max_examples=8)
@given(rows=ROWS, padding=st.integers(0, 9))
def test_a_batch_equals_its_rows_and_padding_changes_nothing(
    ids_served: Any, pad: Callable[..., Any], rows: list[list[int]], padding: int
) -> None:
    ids = np.pad(pad(rows), [(0, 0), (0, padding)])
    together = ids_served.run("translate_n_best", source_ids=ids)
    states = ids_served.run("encode", source_ids=ids)
    for place, row in enumerate(rows):
        alone = ids_served.run("translate_n_best", source_ids=pad([row]))
        np.testing.assert_array_equal(alone["ids"][0], together["ids"][place])
        np.testing.assert_allclose(alone["scores"][0], together["scores"][place], atol=1e-4)
        state = ids_served.run("encode", source_ids=pad([row]))["encoder_states"][0]
        found = states["encoder_states"][place]
        np.testing.assert_allclose(found[: len(row)], state[: len(row)], atol=1e-5)
        assert not found[len(row) :].any()


@settings(max_examples=8)
@given(ids=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=8))
def test_any_number_is_an_id_or_unknown(ids_served: Any, ids: list[int]) -> None:
    end = ids.index(0) if 0 in ids else len(ids)
    read = [token if 3 < token < 60 else 1 for token in ids[:end]]
    found, wanted = (
        ids_served.run("translate_ids", source_ids=np.array([row + [0]], np.int32))
        for row in (ids, read)
    )
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("nothing", ["", "  \t ", "\u3000"])
def test_a_text_without_a_token_has_one_empty_translation(text_served: Any, nothing: str) -> None:
    texts = ["hello", nothing]
    found = text_served.run("translate_n_best", text=texts)
    assert found["translations"][1].tolist() == [b"", b"", b""]
    assert found["scores"][1].tolist() == [0, LOWEST, LOWEST]
    assert found["log_probabilities"][1].tolist() == [0, LOWEST, LOWEST]
    best = text_served.run("serving_default", text=texts)
    assert (best["translation"][1], best["score"][1]) == (b"", 0)
    assert best["translation"][0]
    with_prefix = text_served.run(
        "translate_with_options",
        text=[nothing],
        max_length=np.array([9], np.int32),
        length_penalty=np.array([0.6], np.float32),
        target_prefix=["hello"],
    )
    assert (with_prefix["translation"][0], with_prefix["score"][0]) == (b"", 0)


def test_a_row_of_padding_has_one_empty_translation(ids_served: Any) -> None:
    found = ids_served.run("translate_ids", source_ids=np.zeros((2, 3), np.int32))
    assert not found["ids"].any() and not found["score"].any()
    assert not found["log_probability"].any()


def test_every_signature_takes_an_empty_batch(ids_served: Any, text_served: Any) -> None:
    empty = {
        "max_length": np.zeros(0, np.int32),
        "length_penalty": np.zeros(0, np.float32),
    }
    ids, texts = np.zeros((0, 0), np.int32), np.array([], object)
    requests = [
        (text_served, "serving_default", {"text": texts}),
        (text_served, "translate_n_best", {"text": texts}),
        (text_served, "score", {"source": texts, "target": texts}),
        (text_served, "encode", {"text": texts}),
        (text_served, "translate_ids", {"source_ids": ids}),
        (text_served, "translate_with_options", {"text": texts, **empty, "target_prefix": texts}),
        (ids_served, "serving_default", {"source_ids": ids}),
        (ids_served, "translate_n_best", {"source_ids": ids}),
        (ids_served, "score", {"source_ids": ids, "target_ids": ids}),
        (ids_served, "encode", {"source_ids": ids}),
        (ids_served, "translate_ids", {"source_ids": ids}),
        (ids_served, "translate_with_options", {"source_ids": ids, **empty, "target_prefix": ids}),
    ]
    for served, signature, inputs in requests:
        full = served.run(signature, **{name: _one_row(value) for name, value in inputs.items()})
        for name, value in served.run(signature, **inputs).items():
            assert value.shape[0] == 0, (signature, name)
            assert value.dtype == full[name].dtype
            assert value.ndim == full[name].ndim


def _one_row(value: np.ndarray) -> np.ndarray:
    if value.dtype == object:
        return np.array([b"hello"], object)
    return np.full((1, *(1 for _ in value.shape[1:])), 5, value.dtype)


MALFORMED = [
    b"the \xff dog",
    b"\xfe\xff",
    b"a house \xe2\x82",
    b"\xed\xa0\x80 river",
    b"\xf0\x9f\x99",
    b"\xc0\xaf hello",
    b"\x80\x80\x80 birds",
]


@settings(max_examples=8)
@given(text=st.sampled_from(MALFORMED) | st.binary(max_size=24))
def test_malformed_bytes_are_read_as_sentencepiece_reads_them(
    text_served: Any, ids_served: Any, pad: Callable[..., Any], text: bytes
) -> None:
    tokenizer = sentencepiece.SentencePieceProcessor(model_proto=text_served.source_tokenizer.model)
    ids = tokenizer.encode(text)
    found = text_served.run("serving_default", text=[text])
    wanted = ids_served.run("translate_ids", source_ids=pad([ids]))
    assert found["score"][0] == pytest.approx(wanted["score"][0], abs=1e-5)
    translation = text_served.target_tokenizer.decode(wanted["ids"].tolist())[0]
    assert found["translation"][0].decode() == translation


def test_a_long_source_is_cut(text_served: Any, pad: Callable[..., Any]) -> None:
    tokenizer = text_served.source_tokenizer
    long = "the small river " * 20_000
    ids = tokenizer.encode([long])[0]
    assert len(ids) > 30
    found = text_served.run("serving_default", text=["hello", long])
    wanted = text_served.run("translate_ids", source_ids=pad([ids[:30]]))
    translation = text_served.target_tokenizer.decode(wanted["ids"].tolist())[0]
    assert found["translation"][1].decode() == translation
    assert found["score"][1] == pytest.approx(wanted["score"][0], abs=1e-5)
    by_ids = text_served.run("translate_ids", source_ids=pad([ids]))
    np.testing.assert_array_equal(by_ids["ids"], wanted["ids"])
    assert text_served.run("encode", text=[long])["mask"].shape == (1, 31)
    scores = text_served.run("score", source=["hello", long], target=[long, "hello"])
    assert np.isfinite(scores["score"]).all()


@pytest.mark.exhaustive  # The other export takes longer than all these tests.
def test_learned_positions_bound_sources_and_translations(other_served: Any) -> None:
    long = ["the small river " * 50]
    assert other_served.run("encode", text=long)["mask"].shape == (1, 44)
    assert np.isfinite(other_served.run("score", source=long, target=long)["score"]).all()
    assert np.isfinite(other_served.run("serving_default", text=long)["score"]).all()
