"""Files over REST: what comes back is what `translate-file` writes, within the server's limits."""

import base64
import io
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests

from keras_transformer.export import OnnxTranslator
from keras_transformer.files.formats import read_document
from keras_transformer.files.job import translate_document
from keras_transformer.files.translating import SpanTranslator
from keras_transformer.search.options import SearchOptions

SEARCH = {"max_length": 40, "beam_size": 2}
CATALOGUE = b"""msgid "hello <b>you</b>"
msgstr ""

msgid "the red house"
msgstr "la casa roja"
"""


@pytest.fixture(scope="module")
def server(exported: Any, start_shared: Callable[..., Any]) -> Any:
    limits = {"max_file_texts": 3, "max_file_bytes": 2000}
    return start_shared(exported.path, search=SearchOptions(**SEARCH), **limits)


def post(server: Any, data: bytes = CATALOGUE, **query: str) -> requests.Response:
    query = {"name": "es.po", **query}
    return requests.post(f"{server.model_url}:translate_file", data, params=query, timeout=60)


def test_a_file_is_what_the_command_writes(server: Any, exported: Any, tmp_path: Path) -> None:
    (tmp_path / "es.po").write_bytes(CATALOGUE)
    with OnnxTranslator(exported.path) as translator:
        wanted = translate_document(
            read_document(tmp_path / "es.po"), SpanTranslator(translator, options=SEARCH)
        )
    answer = post(server).json()
    assert base64.b64decode(answer["content"]) == wanted.data != CATALOGUE
    assert (answer["translated"], answer["left"]) == (1, 1)
    assert answer["low_confidence"] == [one._asdict() for one in wanted.doubts]


def test_other_texts_and_marks_can_be_asked_for(server: Any) -> None:
    answer = post(server, update="all", review="low", format="po", name="a").json()
    assert answer["translated"] == 2
    assert b"fuzzy" not in base64.b64decode(post(server, b"a", name="a.txt").json()["content"])


@pytest.mark.parametrize(
    ("data", "query", "said"),
    [
        (b"", {"name": ""}, "none of the endings"),
        (b"", {"name": "a.exe"}, "a.exe has none of the endings"),
        (b"x", {"name": "a.docx"}, "no archive of an office program"),
        (b"{", {"name": "a.json"}, "a.json cannot be read as json"),
        (b"1", {"name": "a.xlf"}, "it is not XML"),
        (b"<br>", {"name": "a.html"}, "a.html holds no text that could be translated"),
        (b"a\nb\nc\nd", {"name": "a.txt"}, "3 texts to translate, got 4"),
        (b"a", {"format": "exe"}, "format must be"),
        (b"a", {"update": "some"}, "update must be"),
        (b"a", {"colour": "red"}, "colour"),
        (b"a", {"target_language": "xx", "name": "a.txt"}, "language"),
    ],
)
def test_what_cannot_be_translated_is_refused_by_name(
    server: Any, data: bytes, query: dict[str, str], said: str
) -> None:
    response = post(server, data, **query)
    assert response.status_code == 400 and said in response.json()["error"]


def test_a_name_is_needed_once(server: Any) -> None:
    url = f"{server.model_url}:translate_file"
    assert "'name' is missing" in requests.post(url, b"a", timeout=60).json()["error"]
    twice = requests.post(f"{url}?name=a.po&name=b.po", b"a", timeout=60)
    assert "name is given twice" in twice.json()["error"]


def test_a_large_file_is_refused_also_where_it_is_packed(server: Any) -> None:
    assert post(server, b"a" * 3000).status_code == 413
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", "<p></p>" + " " * 5000)
    answer = post(server, written.getvalue(), name="a.docx")
    assert "holds 5,007 bytes once unpacked, more than 4,000" in answer.json()["error"]


def test_a_client_may_be_in_a_hurry(server: Any) -> None:
    url = f"{server.model_url}:translate_file?name=a.txt"
    headers = {"x-request-timeout": "0.0001"}
    assert requests.post(url, b"hello you", headers=headers, timeout=60).status_code == 504


def test_a_file_counts_as_a_request_of_all_its_sentences(server: Any) -> None:
    sentences = {"signature": "translate_file"}
    before = server.metric("keras_transformer_sentences_total", **sentences)
    assert post(server, b"hello you\nthe house", name="a.txt").ok
    assert server.metric("keras_transformer_sentences_total", **sentences) == before + 2


def test_a_file_waits_where_the_queue_is_full(exported: Any, start: Callable[..., Any]) -> None:
    server = start(exported.path, max_queue=1, max_sentences=1, max_batch=1)
    answers = []
    texts = b"\n".join(b"the red house %d" % number for number in range(12))
    threads = [
        threading.Thread(target=lambda: answers.append(post(server, texts, name="a.txt")))
        for _ in range(3)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert [one.status_code for one in answers] == [200] * 3


def test_keys_are_needed_for_files_too(
    exported: Any, start: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "keys").write_text("secret")
    server = start(exported.path, api_key_file=tmp_path / "keys", max_file_texts=0)
    assert post(server).status_code == 401
    url = f"{server.model_url}:translate_file?name=es.po"
    headers = {"Authorization": "Bearer secret"}
    answer = requests.post(url, CATALOGUE, headers=headers, timeout=60)
    assert "0 texts to translate, got 1" in answer.json()["error"]
