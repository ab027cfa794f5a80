"""LibreTranslate's API, asked by its own client and as a form."""

import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from keras_transformer.runtime.translator import OnnxTranslator
from keras_transformer.search.options import SearchOptions
from keras_transformer.translation.by_sentence import SentenceTranslator

BEAM = {"max_length": 40, "beam_size": 3, "num_hypotheses": 2}
ASKED = {"q": "hello you", "source": "en", "target": "es"}


@pytest.fixture(scope="module")
def server(exported: Any, start_shared: Callable[..., Any]) -> Any:
    search = SearchOptions(**BEAM)
    return start_shared(exported.path, search=search, language_pairs=("demo=en-es",))


def post(server: Any, path: str = "/translate", **given: Any) -> requests.Response:
    return requests.post(server.rest_url + path, json={**ASKED, **given}, timeout=60)


def test_its_client_translates(server: Any, translator: OnnxTranslator) -> None:
    client = pytest.importorskip("libretranslatepy", reason="libretranslatepy is not installed")
    api = client.LibreTranslateAPI(server.rest_url)
    [wanted] = translator.translate(["hello you"], **BEAM)
    assert api.translate("hello you", "en", "es") == wanted
    assert api.languages() == [{"code": "en", "name": "English", "targets": ["es"]}]
    with pytest.raises(urllib.error.HTTPError) as caught:
        api.detect("hello")
    assert b"no model here detects languages" in caught.value.read()


def test_a_list_has_a_list_of_translations(server: Any, translator: OnnxTranslator) -> None:
    texts = ["hello you", "", "the red house"]
    wanted = translator.translate(texts, **BEAM)
    assert post(server, q=texts).json() == {"translatedText": wanted}


def test_alternatives_follow_the_best(server: Any, translator: OnnxTranslator) -> None:
    [found] = translator.translate_n_best(["hello you"], **BEAM)
    answer = post(server, alternatives=1, source="auto").json()
    assert answer["translatedText"] == found[0].text
    assert answer["alternatives"] == [one.text for one in found[1:2]]


def test_html_keeps_its_tags_and_has_its_attributes_translated(server: Any, exported: Any) -> None:
    text = 'hello <b class="a" title="the red house">you</b>'
    with OnnxTranslator(exported.path, markup="html") as translator:
        [wanted] = SentenceTranslator(translator).translate([text], **BEAM)
    answer = post(server, q=text, format="html").json()["translatedText"]
    assert answer == wanted and '<b class="a" title="' in answer and "the red house" not in answer


def test_a_form_is_read_as_json_is(server: Any) -> None:
    form = {**ASKED, "alternatives": "1", "q": ["hello you", "a"]}
    found = requests.post(f"{server.rest_url}/translate", data=form, timeout=60).json()
    assert found == post(server, q=form["q"], alternatives=1).json()


def test_a_form_of_very_many_texts_is_refused(server: Any) -> None:
    response = requests.post(
        f"{server.rest_url}/translate",
        data="source=en&target=es" + "&q=" * 300_000,
        headers={"Content-Type": "application/x-www-form-urlencoded"},
        timeout=60,
    )
    assert response.status_code == 400 and "got 300000" in response.json()["error"]


def test_settings_name_what_a_page_may_offer(server: Any) -> None:
    found = requests.get(f"{server.rest_url}/frontend/settings", timeout=60).json()
    assert found["language"]["source"] == {"code": "en", "name": "English"}
    assert found["keyRequired"] is False


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"q": None}, "the field 'q' is missing"),
        ({"q": []}, "a list of strings"),
        ({"q": [1]}, "q must be a string, got 1"),
        ({"source": "de"}, "demo translates from en to es, not 'de'"),
        ({"format": "docx"}, "'text' or 'html', got 'docx'"),
        ({"alternatives": 9}, "num_hypotheses must be at most 3"),
        ({"alternatives": "x"}, "alternatives must be an integer"),
        ({"alternatives": "9" * 5000}, "alternatives must be an integer"),
        ({"glossary": "a"}, "unknown field 'glossary'"),
    ],
)
def test_what_is_wrong_is_said(server: Any, given: dict[str, Any], message: str) -> None:
    response = post(server, **given)
    assert response.status_code == 400 and message in response.json()["error"]


def test_files_are_refused(server: Any) -> None:
    files = {"q": "a"}
    response = requests.post(f"{server.rest_url}/translate", files=files, timeout=60)
    assert response.status_code == 415


def test_a_key_may_stand_in_the_body(
    exported: Any, start: Callable[..., Any], tmp_path: Path
) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("secret\n", "utf-8")
    keys.chmod(0o600)
    server = start(exported.path, language_pairs=("en-es",), api_key_file=keys)
    assert post(server, api_key="secret").status_code == 200
    headers = {"Authorization": "Bearer secret"}
    url = f"{server.rest_url}/translate"
    assert requests.post(url, json=ASKED, headers=headers, timeout=60).status_code == 200
    for given in ({}, {"api_key": "other"}):
        for headers in ({}, {"Authorization": ""}):
            response = requests.post(url, json={**ASKED, **given}, headers=headers, timeout=60)
            assert response.status_code == 401
    wrong = {"Authorization": "Bearer other"}
    body = {**ASKED, "api_key": "secret"}
    assert requests.post(url, json=body, headers=wrong, timeout=60).status_code == 401
    assert requests.get(f"{server.rest_url}/languages", timeout=60).status_code == 401
