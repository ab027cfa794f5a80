"""What has no letter goes around the served model, texts in capitals are read as sentences, and
wrapped lines are joined by hand."""

import dataclasses

from keras_transformer.search.options import SearchOptions

HELLO = "hello, how are you?"
TEXTS = ["31", "12:30", "😀", f"- {HELLO}", f"1) {HELLO} 😀", f"{HELLO} 😀 Hello 31", "hel\u00adlo"]
TEXTS += ["Πλάτων", f"Πλάτων {HELLO}", "hello, how are 你好 you?"]
WRAPPED = "> the red\n> dog runs\n\n- hello\n"
JOINED = "> the red dog runs\n\n- hello\n"


def test_a_server_carries_what_translators_carry(server, splitting, search, events) -> None:
    body = {"signature_name": "translate_n_best", "instances": TEXTS}
    found = server.predict(body).json()["predictions"]
    wanted = splitting.translate_n_best(TEXTS, **search)
    for row, few in zip(found, wanted, strict=True):
        texts = [one.text for one in few]
        assert row["translations"] == texts + [""] * (len(row["translations"]) - len(texts))
    assert [few[0].text for few in wanted[:3]] == TEXTS[:3]
    greedy = {**search, "beam_size": 1, "num_hypotheses": 1}
    for text, best in zip(TEXTS, splitting.translate(TEXTS, **greedy), strict=True):
        *pieces, _ = events(server.predict({"text": text}, ":stream"))
        assert "".join(data["piece"] for _, data in pieces) == best
    answer = server.predict({"text": f"- {HELLO} 31"}, ":explain").json()
    assert (answer["sentences"][0]["source"], answer["gaps"]) == (HELLO, ["- ", " 31"])
    assert wanted[8][0].text == "Πλάτων " + wanted[3][0].text.removeprefix("- ")
    pair = {"signature_name": "score", "inputs": {"source": [HELLO], "target": ["hola"]}}
    marked = {**pair, "inputs": {"source": [f"- {HELLO}"], "target": ["- hola"]}}
    assert server.predict(pair).json() == server.predict(marked).json()


def test_a_served_model_gets_what_it_was_trained_on(start, exported, translator) -> None:
    server = start(exported.path, letterless="translate")
    found = server.predict({"instances": TEXTS[:2]}).json()["predictions"]
    wanted = translator.translate(TEXTS[:2], letterless="translate")
    assert [row["translation"] for row in found] == wanted != TEXTS[:2]


def test_capitals_are_read_as_a_sentence(server, start, exported) -> None:
    body = {"instances": [HELLO.capitalize(), HELLO.upper()]}

    def translations(served) -> list[str]:
        return [row["translation"] for row in served.predict(body).json()["predictions"]]

    plain, capitals = translations(server)
    assert capitals == plain.upper()
    kept = translations(start(exported.path, casing="keep"))
    assert kept[0] == plain and kept[1] != capitals


def test_hypotheses_differ_as_texts(start, exported, splitting, texts) -> None:
    search = SearchOptions(beam_size=4, num_hypotheses=3, max_length=6)
    server = start(exported.path, search)
    body = {"signature_name": "translate_n_best", "instances": texts}
    rows = [row["translations"] for row in server.predict(body).json()["predictions"]]
    wanted = splitting.translate_n_best(texts, **dataclasses.asdict(search))
    for row, few in zip(rows, wanted, strict=True):
        assert [one.text for one in few] == row[: len(few)]
        assert len({one.text for one in few}) == len(few) <= 3


def test_wrapped_lines_are_joined_where_a_request_or_the_server_asks_for_it(
    server, start, exported, events
) -> None:
    def streamed(server, **body) -> dict:
        return events(server.predict(body, ":stream"))[-1][1]

    wanted = streamed(server, text=JOINED)
    assert streamed(server, text=WRAPPED, join_lines=True) == wanted
    assert streamed(server, text=WRAPPED, join_lines=False) != wanted
    explained = server.predict({"text": WRAPPED, "join_lines": True}, ":explain").json()
    assert [one["source"] for one in explained["sentences"]] == ["the red dog runs", "hello"]
    refused = server.predict({"text": WRAPPED, "join_lines": "yes"}, ":explain")
    assert refused.json()["error"] == "join_lines must be true or false."
    joining = start(exported.path, join_lines=True)
    both = joining.predict({"instances": [WRAPPED, JOINED]}).json()["predictions"]
    assert both[0] == both[1]
