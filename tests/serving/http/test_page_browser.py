"""The page in a headless Chromium, asking a real server: what people see and what they must not."""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from keras_transformer.export import OnnxTranslator

SEARCH = {"beam_size": 4, "num_hypotheses": 3}
TEXT = "the red dog runs to the house"
CELLS = "#matrix td[role=gridcell]"


@pytest.fixture(scope="module")
def address(exported: Any) -> Iterator[str]:
    """Address of a server of the small model."""
    options = ["--model-name", "small <model>", "--port", "0", "--max-source-length", "40"]
    for name, value in SEARCH.items():
        options += [f"--{name.replace('_', '-')}", str(value)]
    command = [sys.executable, "-m", "keras_transformer", "serve", str(exported.path)]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        found = re.search(r"http://[\d.]+:\d+", line)
        assert found, line
        yield found[0]
        process.terminate()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page, opened; fails the test on an error of a script or a request to elsewhere."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on("console", lambda message: problems.append(f"{message.type}: {message.text}"))
    opened.on("request", lambda request: requested.append(request.url))
    requested: list[str] = []
    opened.goto(address)
    yield opened
    context.close()
    # The browser itself reports refused requests.
    assert [text for text in problems if "Failed to load resource" not in text] == []
    assert {url for url in requested if not url.startswith(f"{address}/")} == set()


def translate(page: Any, text: str) -> None:
    page.fill("#source", text)
    page.press("#source", "Enter")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")


@pytest.fixture(scope="module")
def hypotheses(exported: Any) -> list[Any]:
    """What the translator itself makes of `TEXT`."""
    with OnnxTranslator(exported.path) as translator:
        return translator.translate_n_best([TEXT], return_attention=True, **SEARCH)[0]


def test_the_translation_is_the_translators(page: Any, hypotheses: list[Any]) -> None:
    translate(page, TEXT)
    assert page.inner_text("#translation") == hypotheses[0].text
    assert page.inner_text("h1") == "small <model>"
    assert page.inner_text("#version") == "version 1"


def test_pieces_appear_one_after_the_other(page: Any) -> None:
    page.evaluate(
        """() => {
            window.seen = [];
            const output = document.getElementById("translation");
            new MutationObserver(() => window.seen.push(output.textContent))
                .observe(output, {childList: true, characterData: true, subtree: true});
        }"""
    )
    translate(page, TEXT)
    seen = [text for text in page.evaluate("() => window.seen") if text]
    assert len(set(seen)) > 3
    growing = seen[: seen.index(max(seen, key=len)) + 1]
    assert all(later.startswith(earlier) for earlier, later in itertools.pairwise(growing))


def test_the_best_are_listed_and_can_be_chosen(page: Any, hypotheses: list[Any]) -> None:
    translate(page, TEXT)
    buttons = page.locator("#hypotheses button")
    assert page.locator("#hypotheses .words").all_inner_texts() == [one.text for one in hypotheses]
    for shown, one in zip(buttons.all_inner_texts(), hypotheses, strict=True):
        assert f"score {one.score:.3f}".replace("-", "−") in shown
    buttons.nth(2).click()
    assert page.inner_text("#translation") == hypotheses[2].text
    pressed = [buttons.nth(n).get_attribute("aria-pressed") for n in range(3)]
    assert pressed == ["false", "false", "true"]
    assert page.locator(CELLS).count() == hypotheses[2].attention.size


def test_nothing_promises_a_choice_where_there_is_none(page: Any, hypotheses: list[Any]) -> None:
    def keep_one(route: Any) -> None:
        found = route.fetch().json()
        [sentence] = found["sentences"]
        sentence["hypotheses"] = sentence["hypotheses"][:1]
        route.fulfill(json=found)

    translate(page, TEXT)
    assert page.locator("#choice").is_visible()
    assert page.inner_text("#best-heading") == "Best hypotheses"
    page.route("**/*:explain", keep_one)
    translate(page, TEXT)
    assert page.locator("#hypotheses .words").all_inner_texts() == [hypotheses[0].text]
    assert not page.locator("#choice").is_visible()
    assert page.inner_text("#best-heading") == "Best hypothesis"


def test_pointing_at_a_cell_shows_both_pieces_and_the_value(
    page: Any, hypotheses: list[Any]
) -> None:
    translate(page, TEXT)
    page.locator("#matrix tbody tr").nth(1).locator("td").nth(2).hover()
    row, column = page.locator("#matrix th.lit").all_inner_texts()[::-1]
    assert column == page.locator("#matrix thead th").nth(2).inner_text()
    assert row == page.locator("#matrix tbody th").nth(1).inner_text()
    value = hypotheses[0].attention[1, 2]
    assert page.inner_text("#readout") == f"{row} looks at {column}: {value:.3f}"
    target_length, source_length = hypotheses[0].attention.shape
    assert page.locator("#matrix td.lit").count() == target_length + source_length - 1


def test_the_matrix_can_be_walked_by_keyboard(page: Any, hypotheses: list[Any]) -> None:
    translate(page, TEXT)
    page.locator("#hypotheses button").last.focus()
    for key in ("Tab", "ArrowDown", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    focused = page.locator(f"{CELLS}:focus")
    value = f"{hypotheses[0].attention[1, 1]:.3f}"
    assert focused.get_attribute("aria-label").endswith(f": {value}")
    assert page.inner_text("#readout").endswith(f": {value}")
    page.keyboard.press("End")
    page.keyboard.press("ArrowRight")
    assert focused.get_attribute("aria-label").split(":")[0].endswith("</s>")


def test_text_is_never_read_as_html(page: Any) -> None:
    evil = "<img src=x onerror=alert(1)>"
    sentence = {
        "source": evil,
        "source_pieces": [evil, "</s>"],
        "hypotheses": [
            {
                "translation": evil,
                "score": -0.5,
                "log_probability": -1.0,
                "low_confidence": True,
                "target_pieces": [evil, "</s>"],
                "attention": [[0.75, 0.25], [0.5, 0.5]],
            }
        ],
    }
    explained = {"sentences": [sentence, sentence], "gaps": ["", evil, ""]}
    events = f'data: {{"piece": "{evil}"}}\n\nevent: done\ndata: {{"translation": "{evil}"}}\n\n'
    page.route("**/*:stream", lambda route: route.fulfill(body=events))
    page.route("**/*:explain", lambda route: route.fulfill(json=explained))
    translate(page, evil)
    page.locator(CELLS).first.hover()
    assert page.inner_text("#translation") == evil * 3
    assert page.locator("#sentences .words").first.inner_text() == evil
    assert page.inner_text("#hypotheses .words") == evil
    assert page.inner_text("#hypotheses .doubt") == "low confidence"
    assert page.inner_text("#readout") == f"{evil} looks at {evil}: 0.750"
    assert page.locator("main img, main script").count() == 0


def test_every_line_comes_back_and_each_sentence_can_be_looked_at(
    page: Any, hypotheses: list[Any]
) -> None:
    page.fill("#source", f"hello\n\n{TEXT}\n{TEXT} hello.")
    page.click("button[type=submit]")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")
    lines = page.inner_text("#translation").split("\n")
    assert (lines[1], lines[2]) == ("", hypotheses[0].text)
    assert len(lines) == 4 and lines[0] and lines[3]
    sentences = page.locator("#sentences button")
    assert sentences.all_inner_texts() == ["hello", TEXT, f"{TEXT} hello."]
    sentences.nth(1).click()
    assert sentences.nth(1).get_attribute("aria-pressed") == "true"
    assert page.locator("#hypotheses .words").all_inner_texts() == [one.text for one in hypotheses]
    page.locator("#hypotheses button").nth(2).click()
    lines[2] = hypotheses[2].text
    assert page.inner_text("#translation") == "\n".join(lines)
    # The choice stays while another sentence is looked at.
    sentences.nth(0).click()
    sentences.nth(1).click()
    assert page.locator("#hypotheses button").nth(2).get_attribute("aria-pressed") == "true"
    assert page.inner_text("#translation") == "\n".join(lines)


def test_one_sentence_is_no_list(page: Any) -> None:
    translate(page, TEXT)
    assert not page.is_visible("#sentences")


def test_a_text_of_too_many_sentences_is_refused_in_words(page: Any) -> None:
    translate(page, TEXT)
    translate(page, f"{TEXT}. {TEXT}. " * 150)
    notice = page.inner_text("#notice")
    assert "does not accept this text" in notice
    assert "more than 256 sentences" in notice
    assert not page.is_visible("#hypotheses")
    translate(page, TEXT)
    assert not page.is_visible("#notice")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (413, "too large for the server"),
        (429, "Try again in a moment"),
        (500, "The server failed (500)"),
        (503, "not ready"),
        (504, "longer than the server allows"),
    ],
)
def test_refusals_are_put_into_words(page: Any, status: int, words: str) -> None:
    answer = {"error": "what the server says"}
    page.route("**/*:stream", lambda route: route.fulfill(status=status, json=answer))
    translate(page, TEXT)
    assert words in page.inner_text("#notice")
    assert "what the server says" in page.inner_text("#notice")


def test_an_error_after_the_first_piece_is_shown(page: Any) -> None:
    events = 'data: {"piece": "half"}\n\nevent: error\ndata: {"error": "too late"}\n\n'
    page.route("**/*:stream", lambda route: route.fulfill(body=events))
    translate(page, TEXT)
    assert page.inner_text("#translation") == "half"
    assert "broke off" in page.inner_text("#notice")
    assert "too late" in page.inner_text("#notice")


def test_a_server_that_is_gone_is_named(page: Any) -> None:
    page.route("**/*:stream", lambda route: route.abort())
    translate(page, TEXT)
    assert "cannot be reached" in page.inner_text("#notice")


def test_a_newer_text_replaces_one_under_way(page: Any, exported: Any) -> None:
    page.fill("#source", "we see three birds")
    page.press("#source", "Enter")
    page.fill("#source", "hello")
    page.press("#source", "Enter")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")
    with OnnxTranslator(exported.path) as translator:
        [expected] = translator.translate(["hello"], **SEARCH)
    assert page.inner_text("#translation") == expected


def test_the_model_that_is_chosen_is_asked(
    browser: Any, start: Any, exported: Any, tmp_path: Path
) -> None:
    config = tmp_path / "models.config"
    names = ("<there>", "back")
    models = "".join(f'config {{ name: "{name}" base_path: "{exported.path}" }}' for name in names)
    config.write_text(f"model_config_list {{ {models} }}")
    page = browser.new_context().new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.rpartition("/")[2]))
    page.goto(start(model_config=config).rest_url)
    assert page.locator("#model option").all_inner_texts() == list(names)
    translate(page, TEXT)
    assert {"%3Cthere%3E:stream", "%3Cthere%3E:explain"} < set(asked)
    assert page.inner_text("#version") == "version 1"
    asked.clear()
    # The text is translated by the new choice at once.
    with page.expect_response("**/back:explain"):
        page.select_option("#model", "back")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")
    assert "back:stream" in asked and not any("there" in path for path in asked)
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_both_colour_schemes(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": 390, "height": 844})
    translate(page, f"{TEXT} and the birds are small")
    width = page.evaluate("() => document.documentElement.scrollWidth")
    assert width == 390
    # The matrix scrolls, and says so until its last column is in sight.
    hint = page.locator("#sideways")
    hint.wait_for(state="visible")
    page.evaluate("() => document.querySelector('#scroll').scrollTo(1e6, 0)")
    hint.wait_for(state="hidden")
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", background)[:3])) / 3
    assert brightness > 200 if scheme == "light" else brightness < 60


def test_a_key_is_asked_for_once_and_below_a_prefix(
    browser: Any, start: Any, exported: Any, tmp_path: Path, hypotheses: list[Any]
) -> None:
    keys = tmp_path / "keys"
    keys.write_text("secret")
    server = start(exported.path, SEARCH, api_key_file=keys, root_path="/mt", max_source_length=40)
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(f"{server.rest_url}/mt")
        for key in ("wrong", "secret"):
            page.wait_for_selector("#key-dialog[open]")
            page.fill("#key", key)
            page.press("#key", "Enter")
        expect(page.locator("#version")).to_have_text("version 1")
        translate(page, TEXT)
        assert page.inner_text("#translation") == hypotheses[0].text
        assert not page.is_visible("#key-dialog")
        page.reload()
        expect(page.locator("#version")).to_have_text("version 1")
        assert not page.is_visible("#key-dialog")
    finally:
        context.close()
