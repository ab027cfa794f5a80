"""Expressions with which a search may never end are told from those that are quick."""

import re
import time

import pytest

from keras_transformer.markup.backtracking import (
    bounded,
    may_take_for_ever,
    may_take_very_long,
)
from keras_transformer.markup.profiles import pattern_of

ENDLESS = [
    r"(a+)+", r"(a*)*b", r"(?:a+){20}x", r"(?i:(a|A)+)b", r"(?:a|a)*b", r"(?:\w|a)+;", r"(?:a?)*b",
    r"(?:(?:a+))+b", r"((a|b)+x?)+y", r"(?:a|ab)*c", r"(?:\w+\s?)*:", r"(?:[a-z.]+\.)+x",
    r"(?:\d+\s*){2,}$", r"x(?=(a+)+b)", r"(?:\w+\.?)+@",
    r"\((?:\\.|,[^,]*)*\)", r"(?:a|)*b",
]  # fmt: skip
QUICK = [
    r"BUG-[0-9]+", r"\d+(?:\.\d+)*", r"(?:a++)+b", r"(?>a+)+b", r"(?:(?>a+))*b", r"(?:foo|bar)+",
    r"[A-Z]{2,5}\d{1,4}", r"(?:ab)+", r"(?:[0-9a-f]{2}:){5}[0-9a-f]{2}", r"\{(?:\w+)\}", r"(a|b)c*",
    r"(?:/\w+)+/?", r"\[[^\]]+\]", r"a{,3}b{2}", r"(?:\w+-)*+\w", r"(?i:bug)\s?\d+", r"[(+*]+(x)",
    r"(?:\w|-)+;", r'"(?:\\.|[^"\\])*"',
]  # fmt: skip


@pytest.mark.parametrize("expression", ENDLESS)
def test_what_is_read_in_many_ways_is_found(expression: str) -> None:
    re.compile(expression)
    assert may_take_for_ever(expression)


@pytest.mark.parametrize("expression", QUICK)
def test_what_is_read_in_one_way_passes_and_is_quick(expression: str) -> None:
    assert not may_take_for_ever(expression)
    began = time.perf_counter()
    for text in ("a" * 500, "1.2" * 200, "/a" * 300, "a-" * 300, "foobar" * 100, "[(+*" * 100):
        re.search(expression, text + "!")
    assert time.perf_counter() - began < 0.5


def test_a_span_pattern_that_takes_for_ever_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"got '\(a\+\)\+': .* possessive"):
        pattern_of("auto", ("(a+)+",))


@pytest.mark.parametrize(
    "expression",
    [
        r"\w*\w*x",
        r".*a.*b",
        r"<a.*?>.*?</a>",
        r"[а-я]+[а-я]*x",
        r"(?:a|b)*a*c",
        r"(\w*\w*)-",
        r"(?:ab)*(?:ab)*x",
        r"(?:\.\d)+-?((?:\.\d)+)x",
        r"(?:(?:ab)+;?(?:ab){2,})x",
        r"(?:[0-9]*[0-9]*;)?x",
    ],
)
def test_two_repetitions_that_share_what_they_read_are_refused(expression: str) -> None:
    assert may_take_very_long(expression)
    with pytest.raises(ValueError, match=r"two unlimited .* got '.*': .* \.\{0,20\}"):
        pattern_of("auto", (expression,))


@pytest.mark.parametrize(
    "expression",
    [
        *QUICK,
        r"(?:\w+\.)*\w+",
        r"\w+@\w+\.com",
        r"#\w*-?\w*",
        r"\w*+\w*x",
        r".{0,20}a.*b",
        r"(?:ab)*(?:ab)*",
        r"(?:ab)*-(?:ab)*x",
        r"(?:ab)*(?:cd)*x",
        r"(?:ab)*+(?:ab)*x",
    ],
)
def test_others_are_taken_and_read_no_more_than_a_limit(expression: str) -> None:
    assert not may_take_very_long(expression)
    limited = bounded(expression)
    for text in ("BUG-12", "1.2.3", "/usr/bin", "a@b.com", "[x] {y} #a-b", '"a\\"b"', "foobar;"):
        both = [[one.span() for one in re.finditer(e, text)] for e in (expression, limited)]
        assert both[0] == both[1]


@pytest.mark.parametrize(
    ("expression", "text"),
    [(r"\w+-\d", "a" * 60_000), (r"\d+\.\d+\.\d+", "1" * 60_000), ("a{2,}b", "a" * 60_000)],
)
def test_a_long_text_takes_time_in_proportion(expression: str, text: str) -> None:
    pattern = pattern_of("plain", (expression,))
    began = time.process_time()
    assert not list(pattern.finditer(text))
    # Without the limit 3 to 12 seconds.
    assert time.process_time() - began < 1
