"""The page's files: what is sent, with which headers, and that nothing in them runs inline."""

import asyncio
import re
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response

from keras_transformer.serving.http.page import page_routes

REQUEST = Request({"type": "http", "root_path": "", "headers": []})
SCRIPTS = ["files.js", "key.js", "kinds.js", "languages.js", "matrix.js", "page.js", "server.js"]
FILES = sorted(["icon.svg", "matrix.css", "page.css", *SCRIPTS])


def answers(*models: str) -> dict[str, Response]:
    return {
        route.path: asyncio.run(route.endpoint(REQUEST))
        for route in page_routes(models or ("demo",))
    }


def test_the_page_and_its_files_have_routes() -> None:
    assert sorted(answers()) == ["/", *(f"/page/{name}" for name in FILES)]


@pytest.mark.parametrize("path", ["/", *(f"/page/{name}" for name in FILES)])
def test_browsers_are_told_to_run_and_ask_nothing_else(path: str) -> None:
    headers = answers()[path].headers
    rules = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert rules["default-src"] == rules["frame-ancestors"] == rules["form-action"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert headers["x-content-type-options"] == "nosniff"
    kinds = {"": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
    assert headers["content-type"].split(";")[0] == kinds[Path(path).suffix]


def test_nothing_stands_inline_and_nothing_comes_from_elsewhere() -> None:
    found = {path: answer.body.decode() for path, answer in answers().items()}
    page = found["/"]
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", page)
    namespace = "http://www.w3.org/2000/svg"
    assert not any("//" in text.replace(namespace, "") for text in (page, found["/page/icon.svg"]))
    for path in ("/page/page.css", "/page/matrix.css"):
        assert not re.search(r"@import|url\(", found[path])
    modules = {f"./{name}" for name in SCRIPTS} - {"./page.js"}
    for path in (f"/page/{name}" for name in SCRIPTS):
        written = r"(inner|outer)HTML\s*\+?=[^=]|insertAdjacentHTML|\beval\b"
        assert not re.search(written, found[path])
        assert set(re.findall(r'from "([^"]+)"', found[path])) <= modules


def test_the_frame_of_a_translated_page_has_no_rights() -> None:
    found = answers()
    assert re.findall(r"<iframe[^>]*sandbox=(\S*)", found["/"].body.decode()) == ['""']
    assert not any(b".sandbox" in found[f"/page/{name}"].body for name in SCRIPTS)


def test_the_models_name_is_shown_as_text() -> None:
    page = answers('<b title="x">')["/"].body.decode()
    assert "<h1>&lt;b title=&quot;x&quot;&gt;</h1>" in page
    assert 'data-model="&lt;b title=&quot;x&quot;&gt;"' in page
    assert "<b " not in page


def test_one_of_several_models_can_be_chosen() -> None:
    page = answers("demo", "<b>")["/"].body.decode()
    assert "<option>demo</option><option>&lt;b&gt;</option>" in page
    assert "<title>demo, &lt;b&gt;</title>" in page
    assert "<option" not in answers("demo")["/"].body.decode()
