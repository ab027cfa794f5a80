"""The paths for people: the stream of a translation, and its explanation."""

import numpy as np
import pytest

from keras_transformer.export import OnnxTranslator
from keras_transformer.markup.terms import Glossary, Term
from keras_transformer.search.options import SearchOptions

LOWEST = float(np.finfo(np.float32).min)


@pytest.mark.parametrize("prefix", ["", "hello"])
def test_pieces_joined_are_the_greedy_translation_and_the_end_is_the_best(
    server, splitting, texts, search, prefix, events
) -> None:
    for text in texts:
        response = server.predict({"text": text, "target_prefix": prefix}, ":stream")
        assert response.headers["content-type"].startswith("text/event-stream")
        *pieces, (last, done) = events(response)
        greedy = {**search, "beam_size": 1, "num_hypotheses": 1}
        [expected] = splitting.translate([text], target_prefixes=[prefix], **greedy)
        assert {name for name, _ in pieces} == {"message"}
        assert "".join(data["piece"] for _, data in pieces) == expected
        [best] = splitting.translate([text], target_prefixes=[prefix], **search)
        assert (last, done) == ("done", {"translation": best})


def test_an_empty_text_streams_an_empty_translation(server, events) -> None:
    assert events(server.predict({"text": ""}, ":stream")) == [("done", {"translation": ""})]


def test_an_explanation_holds_the_n_best_and_where_they_look(server, translator, search) -> None:
    text = "the red dΩg"
    answer = server.predict({"text": text}, ":explain").json()
    [found] = answer["sentences"]
    assert (found["source"], answer["gaps"]) == (text, ["", ""])
    assert found["source_pieces"][0] == "▁the" or found["source_pieces"][0].startswith("▁")
    assert found["source_pieces"][-1] == "</s>" and "Ω" in "".join(found["source_pieces"])
    [best] = translator.translate_n_best([text], return_attention=True, **search)
    assert len(found["hypotheses"]) == len(best) == search.get("num_hypotheses", 1)
    for row, one in zip(found["hypotheses"], best, strict=True):
        assert row["translation"] == one.text
        assert row["score"] == pytest.approx(one.score, abs=1e-4)
        assert row["log_probability"] == pytest.approx(one.log_probability, abs=1e-4)
        assert len(row["target_pieces"]) == len(one.ids) + 1
        attention = np.array(row["attention"])
        assert attention.shape == (len(row["target_pieces"]), len(found["source_pieces"]))
        np.testing.assert_allclose(attention, one.attention, atol=1e-4)


def test_an_empty_text_is_explained(server) -> None:
    [found] = server.predict({"text": ""}, ":explain").json()["sentences"]
    [hypothesis] = found["hypotheses"]
    assert (found["source_pieces"], hypothesis["translation"]) == (["</s>"], "")


def test_what_has_no_translation_is_explained_with_the_lowest_score(start, exported) -> None:
    # All tokens but eos are soon forbidden, and eos is too early.
    search = SearchOptions(max_length=80, min_length=80, no_repeat_ngram_size=1)
    server = start(exported.path, search)
    response = server.predict({"text": "hello"}, ":explain")
    assert response.status_code == 200, response.text
    [found] = response.json()["sentences"]
    [best] = found["hypotheses"]
    [predicted] = server.predict({"instances": ["hello"]}).json()["predictions"]
    assert best["score"] == best["log_probability"] == predicted["score"] == LOWEST


@pytest.mark.parametrize("path", [":stream", ":explain"])
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "the key 'text' is missing"),
        ({"text": 1}, "text must be a string"),
        ({"text": "a", "texts": "b"}, "unknown key 'texts'"),
        ({"text": "\udc00"}, "half a surrogate pair"),
        ({"text": "hello\n" * 300}, "row 0 of text: the text has more than 256"),
        ([], "must be a JSON object"),
    ],
    ids=str,
)
def test_what_is_wrong_is_said_before_a_stream_begins(server, path, body, message) -> None:
    response = server.predict(body, path)
    assert response.status_code == 400
    assert message in response.json()["error"]


def test_keys_of_other_families_are_not_proposed(server) -> None:
    response = server.predict({"text": "a", "tekst": "b"}, ":stream")
    assert response.json()["error"].endswith(
        "unknown key 'tekst', expected text, join_lines, target_prefix, sample, temperature, "
        "top_k, top_p, seed, glossary, require."
    )


@pytest.mark.parametrize(
    ("own", "options"),
    [
        ({"glossary": ["dog\thello", ""]}, {"glossary": Glossary((Term("dog", "hello"),))}),
        ({"require": "hello"}, {"require": ["hello"]}),
    ],
)
def test_a_stream_holds_what_its_request_asks_for(server, exported, events, own, options) -> None:
    *pieces, (_, done) = events(server.predict({"text": "the red dog", **own}, ":stream"))
    search = {"max_length": 40, "require": options.get("require", [])}
    with OnnxTranslator(exported.path, glossary=options.get("glossary")) as translator:
        [wanted] = translator.translate(["the red dog"], **search)
    assert done["translation"] == wanted == "".join(data["piece"] for _, data in pieces)
    assert "hello" in wanted


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"glossary": 1}, "glossary must be a string or a list of strings"),
        ({"require": [1]}, "require must be a string or a list of strings"),
        ({"glossary": ["\tx"]}, "glossary"),
        ({"require": ["hello"], "text": "a house. a dog."}, "2 sentences"),
        ({"glossary": ["dog\thello"], "sample": True}, "sample"),
    ],
)
def test_what_no_stream_can_hold_is_refused(server, own, said) -> None:
    response = server.predict({"text": "the red dog", **own}, ":stream")
    assert response.status_code == 400 and said in response.json()["error"]


def test_attributes_are_translated_before_the_tag_is_sent(start, exported, events) -> None:
    text = '<p title="the red house">hello <img alt="a dog"> you</p>. hello'
    for own in ({}, {"long_texts": "refuse"}):
        server = start(exported.path, SearchOptions(max_length=40), markup="html", **own)
        answers = server.predict({"instances": [text]}).json()["predictions"]
        wanted = answers[0]["translation"]
        assert "the red house" not in wanted and "a dog" not in wanted
        *pieces, (_, done) = events(server.predict({"text": text}, ":stream"))
        assert "".join(data["piece"] for _, data in pieces) == done["translation"] == wanted
        answer = server.predict({"text": text}, ":explain").json()
        said = [one["hypotheses"][0]["translation"] for one in answer["sentences"]]
        gaps = answer["gaps"]
        assert gaps[0] + "".join(map("".join, zip(said, gaps[1:], strict=True))) == wanted
