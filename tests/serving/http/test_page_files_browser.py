"""Files and HTML on the page, in a headless Chromium, on a wide screen and on a phone."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from playwright.sync_api import expect

CATALOGUE = b'msgid "hello {name} you"\nmsgstr ""\n\nmsgid "a"\nmsgstr "b"\n'
HTML = """<p title="hello">hello <b>you</b></p><script>parent.document.title = "x"</script>
<img src="/page/icon.svg?shown" onerror="parent.document.title = 'x'">
<a href="/metrics">the house</a>"""


@pytest.fixture(scope="module")
def server(exported: Any, start_shared: Callable[..., Any]) -> Any:
    return start_shared(exported.path, max_file_texts=3)


@pytest.fixture(params=[(1280, 900), (390, 844)], ids=["wide", "phone"])
def page(browser: Any, server: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    width, height = request.param
    context = browser.new_context(viewport={"width": width, "height": height})
    opened = context.new_page()
    opened.goto(server.rest_url)
    expect(opened.locator("#version")).to_have_text("version 1")
    yield opened
    assert opened.evaluate("() => document.documentElement.scrollWidth") == width
    assert opened.title() == "demo"
    context.close()


def send(page: Any, name: str, data: bytes) -> None:
    page.set_input_files("#file", {"name": name, "mimeType": "text/plain", "buffer": data})
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")


def test_a_file_comes_back_translated(page: Any, server: Any) -> None:
    send(page, "es.po", CATALOGUE)
    assert page.inner_text("#summary") == "1 text translated, 1 left unchanged."
    url = f"{server.model_url}:translate_file?name=es.po"
    wanted = requests.post(url, CATALOGUE, timeout=60).json()
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == "es.po"
    assert Path(download.value.path()).read_bytes() == base64.b64decode(wanted["content"])
    shown = page.locator("#doubts .words").all_inner_texts()
    assert shown == [
        one[key] for one in wanted["low_confidence"] for key in ("text", "translation")
    ]
    assert shown


def test_a_file_can_be_dropped(page: Any) -> None:
    page.evaluate(
        """() => {
            const dropped = new DataTransfer();
            dropped.items.add(new File(["hello you"], "a.txt"));
            const event = new DragEvent("drop", {dataTransfer: dropped, cancelable: true});
            document.getElementById("form").dispatchEvent(event);
        }"""
    )
    expect(page.locator("#download")).to_have_text("Save a.txt")


def test_a_file_that_is_refused_says_why_and_leaves_nothing(page: Any) -> None:
    send(page, "es.po", CATALOGUE)
    send(page, "a.txt", b"a\nb\nc\nd")
    assert "does not accept this file" in page.inner_text("#notice")
    assert "3 texts to translate, got 4" in page.inner_text("#notice")
    assert not page.is_visible("#found")


def test_html_is_shown_and_runs_nothing(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.check("#as_html")
    page.fill("#source", HTML)
    page.press("#source", "Enter")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")
    said = page.inner_text("#translation")
    assert '<script>parent.document.title = "x"</script>' in said and "<b>" in said
    frame = page.frame_locator("#rendered")
    expect(frame.locator("b")).to_be_visible()
    frame.locator("a").click()
    assert page.get_attribute("#rendered", "sandbox") == ""
    assert [url for url in asked if "icon.svg?shown" in url or "metrics" in url] == []
    page.uncheck("#as_html")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")
    assert not page.is_visible("#rendered")
