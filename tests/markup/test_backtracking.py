"""Expressions with which a search may never end are told from those that are quick."""

import re
import time

import pytest

from keras_transformer.markup.backtracking import may_take_for_ever
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
