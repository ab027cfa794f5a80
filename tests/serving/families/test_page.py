"""The page fits the kind of the model, in a headless Chromium."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.runtime.generator import OnnxGenerator


@pytest.fixture
def visit(browser: Any, serve: Callable[..., Any]) -> Any:
    """`visit(head, button)`: the page of such a model, once its button has this word."""
    contexts, problems = [], []

    def open_page(head: Any, button: str) -> Any:
        contexts.append(browser.new_context())
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(serve(head).rest_url)
        expect(page.locator("#send")).to_have_text(button)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert problems == []


def send(page: Any, text: str) -> None:
    page.fill("#source", text)
    page.press("#source", "Enter")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")


def test_masks_are_filled_and_the_best_listed(
    visit: Callable[..., Any], family_artefact: Callable[..., Any]
) -> None:
    with OnnxEncoder(family_artefact("masked_lm")) as encoder:
        [wanted] = encoder.fill_mask(["a <mask> house"], 2)
    page = visit("masked_lm", "Fill in")
    assert "<mask>" in page.get_attribute("#source", "placeholder")
    send(page, "a <mask> house")
    assert page.inner_text("#translation") == wanted[0].text
    assert page.locator("#hypotheses .words").all_inner_texts() == [one.text for one in wanted]
    assert page.is_hidden("#attention")
    send(page, "a house")
    assert "no <mask>" in page.inner_text("#notice")


def test_a_text_is_classified(visit: Callable[..., Any]) -> None:
    page = visit("classification", "Classify")
    send(page, "a small house")
    assert page.inner_text("#translation") in ("good", "bad", "neither")
    assert page.locator("#hypotheses li").count() == 3


def test_a_beginning_is_continued(
    visit: Callable[..., Any], family_artefact: Callable[..., Any]
) -> None:
    search = {"beam_size": 2, "num_hypotheses": 2, "max_length": 6}
    with OnnxGenerator(family_artefact("decoder")) as generator:
        [wanted] = generator.generate_n_best(["the red"], **search)
    page = visit("decoder", "Continue")
    send(page, "the red")
    assert page.inner_text("#translation") == wanted[0].text
    assert page.locator("#hypotheses .words").all_inner_texts() == [one.text for one in wanted]


@pytest.mark.parametrize(("head", "button"), [(None, "Embed"), ("tagging", "Tag")])
def test_other_kinds_answer(visit: Callable[..., Any], head: Any, button: str) -> None:
    page = visit(head, button)
    send(page, "a small house")
    assert page.inner_text("#translation")
    assert not page.inner_text("#notice")


def test_a_span_is_found(visit: Callable[..., Any]) -> None:
    page = visit("spans", "Find")
    page.fill("#source", "hello\na small house")
    page.click("#send")
    page.wait_for_selector("#translation[aria-busy=false]", state="attached")
    assert page.inner_text("#translation") in "a small house"


def test_a_continuation_is_drawn_at_random_where_the_page_says_so(
    visit: Callable[..., Any], family_artefact: Callable[..., Any]
) -> None:
    options = {"sample": True, "seed": 5, "temperature": 1.5, "max_length": 6}
    with OnnxGenerator(family_artefact("decoder")) as generator:
        [wanted] = generator.generate(["the red"], **options)
    page = visit("decoder", "Continue")
    page.check("#sample")
    page.fill("#temperature", "1.5")
    page.fill("#seed", "5")
    send(page, "the red")
    assert page.inner_text("#translation") == wanted
    assert page.is_hidden("#details")
    page.fill("#top_p", "7")
    page.press("#source", "Enter")
    assert page.locator("#top_p:invalid").count() == 1


def test_what_answers_no_text_is_not_drawn(visit: Callable[..., Any]) -> None:
    assert visit("classification", "Classify").is_hidden("#drawing")
