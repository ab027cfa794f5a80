"""Blocks of lines: those before the first bad one are answered, whichever check it fails."""

import pytest

from keras_transformer.cli.input_lines import answer_before_error


class LineError(ValueError):
    def __init__(self, index: int, reason: str) -> None:
        self.index = index
        super().__init__(reason)


def refuse(lines: list[str], others: list[str] | None) -> list[str]:
    """Answers lines, as models do: one check of all lines comes after another."""
    for reason in ("long", "odd"):
        for index, line in enumerate(lines):
            if line == reason:
                raise LineError(index, reason)
    assert others is None or len(others) == len(lines)
    return [line.upper() for line in lines]


@pytest.mark.parametrize(
    ("lines", "answered", "reason"),
    [
        (["a", "b"], ["A", "B"], None),
        (["a", "long", "b"], ["A"], "long"),
        (["a", "odd", "b", "long"], ["A"], "odd"),
        (["a", "long", "odd"], ["A"], "long"),
        (["odd", "long", "odd", "long"], None, "odd"),
    ],
)
@pytest.mark.parametrize("has_others", [True, False])
def test_lines_before_the_first_bad_one_are_answered(
    lines: list[str], answered: list[str] | None, reason: str | None, has_others: bool
) -> None:
    found, error = answer_before_error(refuse, lines, list(lines) if has_others else None)
    assert found == answered
    assert (error and str(error)) == reason
    assert error is None or lines[error.index] == reason


def test_an_error_about_no_line_is_raised() -> None:
    with pytest.raises(ValueError, match="no option"):
        answer_before_error(lambda lines: int("no option"), ["a"])
