"""Texts of several sentences, and long ones: nothing of them vanishes, and the layout stays."""

import base64
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from keras_transformer.export.onnx.export import export_onnx
from keras_transformer.text.sentences import split_sentences
from keras_transformer.text.training_text import TrainingText

SENTENCES = ["The red dog runs.", "We see three birds!", "Hello, how are you?", "You buy a book."]
TEXT = " The red dog runs. We see three birds!\n\n\tHello, how are you?\nYou buy a book.  \n"
LOWEST = float(np.finfo(np.float32).min)


def predictions(server: Any, signature: str, instances: list[Any]) -> list[Any]:
    response = server.predict({"signature_name": signature, "instances": instances})
    assert response.status_code == 200, response.text
    return response.json()["predictions"]


def test_a_thousand_paragraphs_lose_no_sentence(start, exported, splitting) -> None:
    paragraphs = [
        " ".join(SENTENCES[(number + place) % 4] for place in range(1 + number % 3))
        for number in range(1000)
    ]
    text = "\n\n".join(paragraphs)
    sentences = [s.strip() for paragraph in paragraphs for s in split_sentences(paragraph)]
    assert len(sentences) > 1900
    server = start(exported.path, max_sentences=4000, max_queue=4000, max_source_length=40)
    [found] = predictions(server, "translate_sentences", [text])
    assert (found["count"], found["sources"]) == (len(sentences), sentences)
    alone = dict(zip(SENTENCES, splitting.translate(SENTENCES, max_length=40), strict=True))
    assert found["translations"] == [alone[sentence] for sentence in sentences]
    [whole] = predictions(server, "serving_default", [text])
    translated = iter(found["translations"])
    assert whole["translation"] == "\n\n".join(
        " ".join(next(translated) for _ in range(1 + number % 3)) for number in range(1000)
    )
    assert server.metric("keras_transformer_sentences_total") == 2 * len(sentences)


@pytest.mark.parametrize("signature", ["serving_default", "translate_with_options"])
def test_the_best_is_that_of_the_command_line(server, splitting, search, signature) -> None:
    texts = [TEXT, "", " \n", "hello", "the red dog " * 40]
    options = {"max_length": 40, "length_penalty": 1.0, "target_prefix": "hello"}
    if signature == "serving_default":
        options = {}
    found = predictions(server, signature, [{"text": text, **options} for text in texts])
    prefixes = [options.pop("target_prefix", "")] * len(texts)
    best = splitting.translate_n_best(texts, target_prefixes=prefixes, **{**search, **options})
    assert [row["translation"] for row in found] == [one[0].text for one in best]
    scores = [row["score"] for row in found]
    assert scores == pytest.approx([one[0].score for one in best], abs=1e-4)
    assert found[0]["translation"].count("\n") == 4


def test_the_n_best_keep_their_shape(server, splitting, search) -> None:
    found = predictions(server, "translate_n_best", [TEXT, "hello"])
    best = splitting.translate_n_best([TEXT, "hello"], **search)
    for row, own in zip(found, best, strict=True):
        assert len(row["translations"]) == search.get("num_hypotheses", 1)
        assert row["translations"][: len(own)] == [one.text for one in own]
        totals = row["log_probabilities"][: len(own)]
        assert totals == pytest.approx([one.log_probability for one in own], rel=1e-4)


def test_sentences_have_ids_and_scores(server, splitting, search) -> None:
    texts = ["hello", TEXT, ""]
    found = predictions(server, "translate_sentences", texts)
    assert [row["count"] for row in found] == [1, 4, 1]
    for text, row, parts in zip(
        texts, found, splitting.translate_parts(texts, **search), strict=True
    ):
        best = [part.hypotheses[0] for part in parts]
        filled = 4 - len(parts)
        assert row["sources"] == [part.source for part in parts] + [""] * filled
        assert row["starts"] == [part.start for part in parts] + [-1] * filled
        assert row["translations"] == [one.text for one in best] + [""] * filled
        assert row["scores"] == pytest.approx(
            [one.score for one in best] + [LOWEST] * filled, abs=1e-4
        )
        ids = [[token for token in column if token] for column in row["ids"]]
        assert ids == [one.ids for one in best] + [[]] * filled
        assert text[row["starts"][0] :].startswith(row["sources"][0])
    assert predictions(server, "translate_sentences", []) == []


def test_a_stream_and_an_explanation_hold_every_sentence(server, splitting, search, events) -> None:
    *pieces, (_, done) = events(server.predict({"text": TEXT}, ":stream"))
    greedy = {**search, "beam_size": 1, "num_hypotheses": 1}
    assert "".join(data["piece"] for _, data in pieces) == splitting.translate([TEXT], **greedy)[0]
    [best] = splitting.translate([TEXT], **search)
    assert done == {"translation": best}
    found = server.predict({"text": TEXT}, ":explain").json()
    assert [one["source"] for one in found["sentences"]] == SENTENCES
    texts = [one["hypotheses"][0]["translation"] for one in found["sentences"]]
    gaps = found["gaps"]
    assert "".join(map("".join, zip(gaps, [*texts, ""], strict=True))) == best
    for one in found["sentences"]:
        attention = np.array(one["hypotheses"][0]["attention"])
        pieces = (one["hypotheses"][0]["target_pieces"], one["source_pieces"])
        assert attention.shape == tuple(map(len, pieces))


def test_sentences_of_different_requests_share_a_batch(start, exported) -> None:
    server = start(exported.path, max_wait_ms=300.0, max_batch=24)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: predictions(server, "serving_default", [TEXT] * 2), range(3)))
    assert server.metric("keras_transformer_batch_size_count") == 1
    assert server.metric("keras_transformer_batch_size_sum") == 24


def test_a_model_is_not_split_within_what_it_knows(start, exported, tmp_path) -> None:
    known = TrainingText(longest_source=40, sentences=(50, 50))
    path = export_onnx(
        exported.model, exported.source_tokenizer, tmp_path / "knows", training_text=known
    )
    [found] = predictions(start(path), "translate_sentences", [TEXT])
    assert found["sources"] == [" ".join(SENTENCES[:2]), *SENTENCES[2:]]


def test_splitting_can_be_switched_off(start, exported, translator) -> None:
    server = start(exported.path, long_texts="refuse", max_source_length=50)
    [found] = predictions(server, "serving_default", [TEXT])
    assert found["translation"] == translator.translate([TEXT], max_length=40)[0]
    [parts] = predictions(server, "translate_sentences", [TEXT])
    assert (parts["count"], parts["sources"]) == (1, [TEXT])
    response = server.predict({"instances": ["hello", "hello " * 80]})
    assert response.status_code == 400
    assert "row 1 of text has" in response.json()["error"]


def test_the_sentences_of_texts_count_against_the_limit(start, exported) -> None:
    server = start(exported.path, max_sentences=7)
    assert server.predict({"instances": [TEXT]}).status_code == 200
    response = server.predict({"instances": [TEXT] * 2})
    assert response.status_code == 400
    assert "may have 7 sentences, got 8" in response.json()["error"]


def test_bytes_that_are_no_utf8_stay_whole(server) -> None:
    text = {"b64": base64.b64encode(b"hello. Hello \xff").decode()}
    [found] = predictions(server, "translate_sentences", [{"text": text}])
    assert (found["count"], found["sources"]) == (1, [text])


def test_an_unknown_way_with_long_texts_is_refused(start, exported) -> None:
    with pytest.raises(ValueError, match="must be one of split, refuse, cut, got 'drop'"):
        start(exported.path, long_texts="drop")
