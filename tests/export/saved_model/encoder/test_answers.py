"""Every signature of an encoder answers what the Keras model says of each text alone."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import TextEncoder
from keras_transformer.config.encoder_only import NEXT_SENTENCE_LABELS
from keras_transformer.search.text_limits import LengthLimit
from tools.covering import some

TEXTS = ["a small house", "", "the red dog runs to the river and the birds", "hello"]
LIMIT = 14
LOWEST = np.finfo(np.float32).min


def softmax(logits: Any) -> np.ndarray:
    values = np.exp(np.asarray(logits, np.float64) - np.max(logits, axis=-1, keepdims=True))
    return values / values.sum(axis=-1, keepdims=True)


def test_embed_is_the_mean_of_the_states_and_pool_the_pooler_s(
    serve_encoder: Callable[..., Any],
) -> None:
    served = serve_encoder(None)
    found, pooled, states = (served.run(name, text=TEXTS) for name in ("embed", "pool", "encode"))
    for place, row in enumerate(served.rows(TEXTS)):
        wanted = served.outputs(row[:LIMIT])
        of_text, length = np.asarray(wanted["states"])[0], min(len(row), LIMIT) + 2
        np.testing.assert_allclose(states["encoder_states"][place, :length], of_text, atol=1e-5)
        assert not states["encoder_states"][place, length:].any()
        assert states["mask"][place].sum() == length
        np.testing.assert_allclose(found["vector"][place], of_text.mean(axis=0), atol=1e-5)
        np.testing.assert_allclose(pooled["pooled"][place], wanted["pooled"][0], atol=1e-5)
    by_ids = served.run("embed_ids", token_ids=padded(served.rows(TEXTS)))
    np.testing.assert_allclose(by_ids["vector"], found["vector"], atol=1e-5)
    np.testing.assert_array_equal(
        served.run("serving_default", text=TEXTS)["vector"], found["vector"]
    )


@pytest.mark.exhaustive
def test_embed_goes_behind_prompts(serve_encoder: Callable[..., Any]) -> None:
    served = serve_encoder("embedding")
    text_encoder = TextEncoder(served.model, served.tokenizer, long_texts="cut")
    usual = served.run("serving_default", text=TEXTS)["vector"]
    np.testing.assert_allclose(usual, text_encoder.embed(TEXTS), atol=1e-5)
    names = ["none", "query", "", "query"]
    found = served.run("embed_with_prompt", text=TEXTS, prompt_name=names)["vector"]
    for vector, text, name in zip(found, TEXTS, names, strict=True):
        expected = text_encoder.embed([text], prompt_name=name)[0]
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    assert found.shape == (4, 5) and not np.allclose(found[0], usual[0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="prompt_name must be one of"):
        served.run("embed_with_prompt", text=["a"], prompt_name=["x"])


@pytest.mark.parametrize("kind", some(["text", "ids"], "text"))
def test_classify_gives_every_label_its_probability(
    serve_encoder: Callable[..., Any], kind: str
) -> None:
    served = serve_encoder("classification", kind)
    labels = [label.encode() for label in served.model.config.labels]
    rows = served.rows(TEXTS)
    given = {"text": TEXTS} if kind == "text" else {"token_ids": padded(rows)}
    found = served.run("serving_default", **given)
    for place, row in enumerate(rows):
        wanted = softmax(served.outputs(row[:LIMIT])[0])
        np.testing.assert_allclose(found["probabilities"][place], wanted, atol=1e-5)
        assert found["labels"][place].tolist() == labels
        assert found["label"][place] == labels[int(np.argmax(wanted))]
        assert found["probability"][place] == found["probabilities"][place].max()


@pytest.mark.exhaustive
def test_tag_gives_each_token_its_label(serve_encoder: Callable[..., Any]) -> None:
    served = serve_encoder("tagging")
    labels = [label.encode() for label in served.model.config.labels]
    found = served.run("tag", text=TEXTS)
    for place, row in enumerate(served.rows(TEXTS)):
        row = row[:LIMIT]
        wanted = softmax(served.outputs(row)[0])[1:-1]
        assert found["tags"][place, : len(row)].tolist() == [
            labels[best] for best in wanted.argmax(axis=1)
        ]
        np.testing.assert_allclose(
            found["probabilities"][place, : len(row)], wanted.max(axis=1), atol=1e-5
        )
        tokens = [text.encode() for text in served.tokenizer.decode([[one] for one in row])]
        assert found["tokens"][place, : len(row)].tolist() == tokens
        for name, nothing in (("tags", b""), ("tokens", b""), ("probabilities", 0)):
            assert set(found[name][place, len(row) :].tolist()) <= {nothing}


CHAINED: dict[str, Any] = {"labels": ("B-X", "I-X", "O"), "crf": True}


@pytest.mark.parametrize("kind", ["text", pytest.param("ids", marks=pytest.mark.exhaustive)])
def test_tag_finds_the_tags_of_a_text_s_words_together(
    serve_encoder: Callable[..., Any], kind: str
) -> None:
    served = serve_encoder("tagging", kind, **CHAINED)
    rows, begins_word = served.rows(TEXTS), served.tokenizer.subwords.begins_word
    given = {"text": TEXTS} if kind == "text" else {"token_ids": padded(rows)}
    found = served.run("serving_default", **given)
    words = TextEncoder(served.model, served.tokenizer, long_texts="cut").tag(TEXTS)
    for place, (row, tagged) in enumerate(zip(rows, words, strict=True)):
        tagged = [one for one in tagged if one.tag]
        number = np.cumsum([begins_word(one) for one in row[:LIMIT]], dtype=int) - 1
        tags, shares = (found[name][place, : len(number)] for name in ("tags", "probabilities"))
        assert tags.tolist() == [tagged[one].tag.encode() for one in number]
        wanted = [tagged[one].probability for one in number]
        np.testing.assert_allclose(shares, wanted, atol=1e-5)


def test_an_empty_batch_has_no_tags(serve_encoder: Callable[..., Any]) -> None:
    nothing = np.array([], object)
    found = serve_encoder("tagging", **CHAINED).run("serving_default", text=nothing)
    assert {name: len(value) for name, value in found.items()} == {
        "tokens": 0,
        "tags": 0,
        "probabilities": 0,
    }


@pytest.mark.exhaustive
def test_regress_gives_the_number(serve_encoder: Callable[..., Any]) -> None:
    served = serve_encoder("regression")
    wanted = [float(served.outputs(row[:LIMIT])[0, 0]) for row in served.rows(TEXTS)]
    np.testing.assert_allclose(served.run("regress", text=TEXTS)["value"], wanted, atol=1e-5)


@pytest.mark.parametrize(
    "head", ["classification", pytest.param("regression", marks=pytest.mark.exhaustive)]
)
def test_pairs_are_cut_and_read_as_the_runtime_does(
    serve_encoder: Callable[..., Any], head: str
) -> None:
    served, long = serve_encoder(head), "the small river " * 9
    firsts = [*TEXTS, TEXTS[0], long, long, 2 * long, "hello"]
    seconds = [*reversed(TEXTS), long, TEXTS[0], long, long, ""]
    rows, others = served.rows(firsts), served.rows(seconds)
    pairs = LengthLimit(LIMIT, "cut", None).fit_pairs(rows, others, added=1)
    logits = np.concatenate([served.outputs(first, second) for first, second in pairs])
    name, output, wanted = (
        ("classify_pairs", "probabilities", softmax(logits))
        if head == "classification"
        else ("regress_pairs", "value", logits[:, 0])
    )
    found = served.run(name, text=firsts, second_text=seconds)
    np.testing.assert_allclose(found[output], wanted, atol=1e-5)
    ids = {"token_ids": padded(rows), "second_ids": padded(others)}
    by_ids = served.run(f"{name}_ids", **ids)
    np.testing.assert_allclose(by_ids[output], wanted, atol=1e-5)


@pytest.mark.exhaustive
def test_next_sentence_gives_the_probability_that_the_second_text_follows(
    serve_encoder: Callable[..., Any],
) -> None:
    served = serve_encoder("pretraining")
    firsts, seconds = [*TEXTS, "hello"], [*reversed(TEXTS), ""]
    rows, others = served.rows(firsts), served.rows(seconds)
    pairs = LengthLimit(LIMIT, "cut", None).fit_pairs(rows, others, added=1)
    logits = [served.outputs(first, second)["next_sentence"] for first, second in pairs]
    wanted = softmax(np.concatenate(logits))[:, NEXT_SENTENCE_LABELS.index("next")]
    found = served.run("next_sentence", text=firsts, second_text=seconds)
    np.testing.assert_allclose(found["probability"], wanted, atol=1e-5)
    ids = {"token_ids": padded(rows), "second_ids": padded(others)}
    by_ids = served.run("next_sentence_ids", **ids)
    np.testing.assert_allclose(by_ids["probability"], wanted, atol=1e-5)


def test_find_span_gives_the_best_part_of_the_text(serve_encoder: Callable[..., Any]) -> None:
    served = serve_encoder("spans")
    questions = ["hello", "the dog", "a", ""]
    found = served.run("serving_default", question=questions, text=TEXTS)
    rows, asked = served.rows(TEXTS), served.rows(questions)
    pairs = LengthLimit(LIMIT, "cut", None).fit_pairs(asked, rows, added=1)
    for place, (question, row) in enumerate(pairs):
        if not row:
            assert (found["first"][place], found["last"][place], found["score"][place]) == (
                0,
                -1,
                0,
            )
            assert found["answer"][place] == b""
            continue
        logits = np.asarray(served.outputs(question, row))[0][len(question) + 2 : -1]
        spans = [(f, t) for f in range(len(row)) for t in range(f, len(row))]
        first, last = max(spans, key=lambda span: logits[span[0], 0] + logits[span[1], 1])
        assert (found["first"][place], found["last"][place]) == (first, last)
        assert found["score"][place] == pytest.approx(logits[first, 0] + logits[last, 1], abs=1e-5)
        [answer] = served.tokenizer.decode([row[first : last + 1]])
        assert found["answer"][place].decode() == answer


MASKED = ["a <mask> house", "the red<mask> runs to <mask>", "hello", "<mask>", "<mask> <mask> dog"]


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_fill_mask_gives_the_best_fillings_of_all_masks_together(
    serve_encoder: Callable[..., Any], kind: str
) -> None:
    served = serve_encoder("masked_lm", kind)
    rows = served.rows(MASKED)
    given = {"text": MASKED} if kind == "text" else {"token_ids": padded(rows)}
    found = served.run("serving_default", **given)
    for place, row in enumerate(rows):
        wanted = naive_fillings(served, row)
        np.testing.assert_allclose(
            found["scores"][place, : len(wanted)], [score for score, _, _ in wanted], atol=1e-4
        )
        for rank, (_, tokens, filled) in enumerate(wanted):
            if kind == "text":
                [text], pieces = served.tokenizer.decode([filled]), found["tokens"][place, rank]
                assert found["texts"][place, rank].decode() == text
                decoded = [served.tokenizer.decode([[token]])[0] for token in tokens]
                assert [one.decode() for one in pieces[: len(tokens)]] == decoded
            else:
                assert found["ids"][place, rank, : len(filled)].tolist() == filled
                assert not found["ids"][place, rank, len(filled) :].any()
                assert found["fillings"][place, rank].tolist() == [
                    *tokens,
                    *[0] * (found["fillings"].shape[2] - len(tokens)),
                ]
        assert set(found["scores"][place, len(wanted) :].tolist()) <= {LOWEST}


def naive_fillings(served: Any, row: list[int]) -> list[tuple[float, list[int], list[int]]]:
    """The five best of all fillings, one by one: score, tokens and row."""
    places = [place for place, token in enumerate(row) if token == 4]
    logits = np.asarray(served.outputs(row))[0]
    log_probs = [np.log(softmax(logits[place + 1])) for place in places]
    every = []
    for tokens in itertools.product(range(5, 60), repeat=len(places)):
        filled = list(row)
        for place, token in zip(places, tokens, strict=True):
            filled[place] = token
        score = sum(values[token] for values, token in zip(log_probs, tokens, strict=True))
        every.append((float(score), list(tokens), filled))
    return sorted(every, key=lambda one: -one[0])[:5]


@pytest.mark.parametrize("head", [None, "classification", "tagging", "spans", "masked_lm"])
def test_an_empty_batch_has_empty_answers(serve_encoder: Callable[..., Any], head: Any) -> None:
    nothing = np.array([], object)
    given = {"text": nothing, **({"question": nothing} if head == "spans" else {})}
    for value in serve_encoder(head).run("serving_default", **given).values():
        assert value.shape[0] == 0


@pytest.mark.exhaustive
def test_any_number_is_an_id_or_unknown(serve_encoder: Callable[..., Any]) -> None:
    served = serve_encoder("classification", "ids")
    odd, read = [-7, 2, 3, 4, 5, 59, 60, 2**31 - 1], [1, 1, 1, 4, 5, 59, 1, 1]
    found, wanted = (
        served.run("classify_ids", token_ids=np.array([row], np.int32)) for row in (odd, read)
    )
    np.testing.assert_array_equal(found["probabilities"], wanted["probabilities"])


def padded(rows: list[list[int]]) -> np.ndarray:
    ids = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for line, row in zip(ids, rows, strict=True):
        line[: len(row)] = row
    return ids
