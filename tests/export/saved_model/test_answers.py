"""Every signature answers what the Keras translator and the onnxruntime one answer."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

LOWEST = np.finfo(np.float32).min


def decoded(strings: np.ndarray) -> list[Any]:
    """Texts of an array of bytes, nested as it is."""
    return [one.decode() if isinstance(one, bytes) else decoded(one) for one in strings]


# Keras's searches, traced for each set of options, take their time; onnxruntime's equal them.
@pytest.fixture(
    params=[pytest.param(0, marks=pytest.mark.exhaustive, id="keras"), pytest.param(1, id="onnx")]
)
def translator_of(request: pytest.FixtureRequest, translators: Callable[..., Any]) -> Any:
    """`translator_of(served)`: each of the two translators."""
    return lambda served: translators(served)[request.param]


def test_serving_default_gives_the_best_translation(
    served: Any, translator_of: Any, many_texts: list[str]
) -> None:
    found = served.run("serving_default", text=many_texts)
    wanted = [few[0] for few in translator_of(served).translate_n_best(many_texts, **served.search)]
    assert decoded(found["translation"]) == [one.text for one in wanted]
    np.testing.assert_allclose(found["score"], [one.score for one in wanted], atol=1e-4)


def test_translate_n_best_gives_all_hypotheses(
    served: Any, translator_of: Any, many_texts: list[str]
) -> None:
    found = served.run("translate_n_best", text=many_texts)
    count = served.search.get("num_hypotheses", 1)
    assert found["translations"].shape == (len(many_texts), count)
    wanted = translator_of(served).translate_n_best(many_texts, **served.search)
    for row, few in enumerate(wanted):
        missing = count - len(few)
        texts = [one.text for one in few] + [""] * missing
        assert decoded(found["translations"][row]) == texts
        for name, values in (
            ("scores", [one.score for one in few]),
            ("log_probabilities", [one.log_probability for one in few]),
        ):
            np.testing.assert_allclose(found[name][row], values + [LOWEST] * missing, atol=1e-4)


def test_translate_ids_gives_the_ids(
    served: Any, translator_of: Any, many_texts: list[str], pad: Callable[..., Any]
) -> None:
    rows = served.source_tokenizer.encode(many_texts)
    found = served.run("translate_ids", source_ids=pad(rows))
    assert found["ids"].shape == (len(rows), served.search["max_length"])
    wanted = [few[0] for few in translator_of(served).translate_ids(rows, **served.search)]
    for row, (ids, score, total) in enumerate(wanted):
        assert np.trim_zeros(found["ids"][row]).tolist() == ids
        assert found["score"][row] == pytest.approx(score, abs=1e-4)
        assert found["log_probability"][row] == pytest.approx(total, abs=1e-4)


def test_score_scores_given_translations(
    served: Any, translator_of: Any, many_texts: list[str]
) -> None:
    targets = many_texts[::-1]
    found = served.run("score", source=many_texts, target=targets)
    wanted = translator_of(served).score(many_texts, targets)
    np.testing.assert_allclose(found["score"], [one.score for one in wanted], atol=1e-4)
    totals = [one.log_probability for one in wanted]
    np.testing.assert_allclose(found["log_probability"], totals, atol=1e-4)


def test_encode_gives_the_encoder_s_states_and_zeros_behind_them(
    served: Any, texts: list[str]
) -> None:
    found = served.run("encode", text=[*texts, ""])
    encoder, width = served.model.encoder, found["mask"].shape[1]
    for row, ids in enumerate([*served.source_tokenizer.encode(texts), []]):
        length = len(ids) + 1
        states = encoder({"source_ids": np.array([[*ids, 3]], np.int32)}, training=False)
        np.testing.assert_allclose(found["encoder_states"][row, :length], states[0], atol=1e-5)
        assert not found["encoder_states"][row, length:].any()
        assert found["mask"][row].tolist() == [place < length for place in range(width)]


def test_texts_in_capitals_are_read_as_sentences(
    text_served: Any, translator_of: Any, texts: list[str]
) -> None:
    loud = [text.upper() for text in (*texts[:2], "one. two! three")]
    translator, search = translator_of(text_served), text_served.search
    found = [one.decode() for one in text_served.run("serving_default", text=loud)["translation"]]
    assert found == translator.translate(loud, **search)
    assert found == [text.upper() for text in found]
    scores = [
        text_served.run("score", source=loud, target=targets)["score"].tolist()
        for targets in (found, [text.capitalize() for text in found])
    ]
    wanted = [one.score for one in translator.score(loud, found)]
    assert scores[0] == pytest.approx(wanted, abs=1e-4) and scores[0] == scores[1]


OPTIONS = [
    {"max_length": 5, "length_penalty": 0.0, "target_prefix": ""},
    {"max_length": 30, "length_penalty": 1.0, "target_prefix": "the dog"},
    {"max_length": 1, "length_penalty": 0.6, "target_prefix": ""},
    {"max_length": 12, "length_penalty": 3.0, "target_prefix": "a"},
]


def with_options(served: Any, texts: list[str], options: list[dict[str, Any]]) -> dict[str, Any]:
    return served.run(
        "translate_with_options",
        text=texts,
        max_length=np.array([one["max_length"] for one in options], np.int32),
        length_penalty=np.array([one["length_penalty"] for one in options], np.float32),
        target_prefix=[one["target_prefix"] for one in options],
    )


def test_translate_with_options_gives_each_row_its_own(
    served: Any, translator_of: Any, texts: list[str]
) -> None:
    texts = texts[: len(OPTIONS)]
    found = with_options(served, texts, OPTIONS)
    for row, (text, options) in enumerate(zip(texts, OPTIONS, strict=True)):
        length = min(options["max_length"], served.search["max_length"])
        search = {**served.search, **options, "max_length": length}
        prefix = search.pop("target_prefix")
        [[best, *_]] = translator_of(served).translate_n_best(
            [text], target_prefixes=[prefix], **search
        )
        assert found["translation"][row].decode() == best.text
        assert found["score"][row] == pytest.approx(best.score, abs=1e-4)


def test_options_of_other_rows_change_nothing(text_served: Any, texts: list[str]) -> None:
    texts = texts[: len(OPTIONS)]
    together = with_options(text_served, texts, OPTIONS)
    for row, options in enumerate(OPTIONS):
        alone = with_options(text_served, [texts[row]], [options])
        assert alone["translation"][0] == together["translation"][row]
        assert alone["score"][0] == pytest.approx(together["score"][row], abs=1e-5)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf"), float("-inf")])
def test_a_length_penalty_that_is_none_is_read_as_zero(
    text_served: Any, texts: list[str], wrong: float
) -> None:
    wanted = with_options(text_served, texts[:1], [{**OPTIONS[0], "length_penalty": 0.0}])
    found = with_options(text_served, texts[:1], [{**OPTIONS[0], "length_penalty": wrong}])
    assert found == wanted


@pytest.mark.parametrize(("given", "read"), [(0, 1), (-7, 1), (2**31 - 1, 30), (-(2**31), 1)])
def test_a_maximal_length_is_brought_into_its_range(
    text_served: Any, texts: list[str], given: int, read: int
) -> None:
    found, wanted = (
        with_options(text_served, texts[:1], [{**OPTIONS[1], "max_length": length}])
        for length in (given, read)
    )
    assert found == wanted


def test_a_prefix_is_cut_to_leave_room_for_a_token(text_served: Any, texts: list[str]) -> None:
    long = texts[0]
    ids = text_served.target_tokenizer.encode([long])[0]
    assert len(ids) > 4
    short = text_served.target_tokenizer.decode([ids[:3]])[0]
    assert text_served.target_tokenizer.encode([short]) == [ids[:3]]
    found, wanted = (
        with_options(
            text_served, texts[1:2], [{**OPTIONS[1], "max_length": 4, "target_prefix": prefix}]
        )
        for prefix in (long, short)
    )
    assert found == wanted
    assert found["translation"][0].decode().startswith(short)


@pytest.mark.exhaustive
def test_signatures_of_ids_answer_as_those_of_text(
    ids_served: Any, text_served: Any, many_texts: list[str], pad: Callable[..., Any]
) -> None:
    tokenizer = text_served.source_tokenizer
    ids = pad(tokenizer.encode(many_texts))
    by_ids = ids_served.run("translate_n_best", source_ids=ids)
    by_text = text_served.run("translate_n_best", text=many_texts)
    texts = [tokenizer.decode(rows.tolist()) for rows in by_ids["ids"]]
    assert texts == decoded(by_text["translations"])
    np.testing.assert_allclose(by_ids["scores"], by_text["scores"], rtol=1e-6, atol=1e-5)
    for name in ("serving_default", "translate_ids"):
        found = ids_served.run(name, source_ids=ids)
        np.testing.assert_array_equal(found["ids"], by_ids["ids"][:, 0])


def test_scores_and_states_of_ids_are_those_of_text(
    ids_served: Any, text_served: Any, many_texts: list[str], pad: Callable[..., Any]
) -> None:
    # Of a text alone a graph sees whether it is in capitals.
    own = [text for text in many_texts if not text.isupper()]
    ids = pad(text_served.source_tokenizer.encode(own))
    pairs = (
        (
            ids_served.run("score", source_ids=ids, target_ids=ids[::-1]),
            text_served.run("score", source=own, target=own[::-1]),
        ),
        (ids_served.run("encode", source_ids=ids), text_served.run("encode", text=own)),
    )
    for found, wanted in pairs:
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-5)


def test_options_of_ids_are_those_of_text(
    ids_served: Any, text_served: Any, texts: list[str], pad: Callable[..., Any]
) -> None:
    tokenizer, texts = text_served.source_tokenizer, texts[: len(OPTIONS)]
    found = ids_served.run(
        "translate_with_options",
        source_ids=pad(tokenizer.encode(texts)),
        max_length=np.array([one["max_length"] for one in OPTIONS], np.int32),
        length_penalty=np.array([one["length_penalty"] for one in OPTIONS], np.float32),
        target_prefix=pad(tokenizer.encode([one["target_prefix"] for one in OPTIONS])),
    )
    wanted = with_options(text_served, texts, OPTIONS)
    assert tokenizer.decode(found["ids"].tolist()) == decoded(wanted["translation"])
    np.testing.assert_allclose(found["score"], wanted["score"], rtol=1e-6, atol=1e-5)
