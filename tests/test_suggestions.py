"""keras_transformer/suggestions.py: the likeliest known name of one that is misspelt."""

import dataclasses
import inspect

import pytest

from keras_transformer.suggestions import did_you_mean, suggests_arguments


@suggests_arguments
@dataclasses.dataclass(frozen=True)
class Size:
    """A class."""

    width: int = 1
    height: int = 2


@suggests_arguments
def area(size: Size, *, scale: float = 1.0) -> float:
    """Returns an area."""
    return size.width * size.height * scale


@pytest.mark.parametrize(
    ("name", "meant"),
    [("widht", "width"), ("WIDTH", "width"), ("hight", "height"), ("xyz", None), ("", None)],
)
def test_the_likeliest_name_is_suggested(name: str, meant: str | None) -> None:
    expected = f"; did you mean {meant!r}?" if meant else ""
    assert did_you_mean(name, ["width", "height"]) == expected


def test_hyphens_and_underscores_are_one() -> None:
    assert did_you_mean("beam-size", ["beam_size"]) == "; did you mean 'beam_size'?"
    assert did_you_mean("beam_size", ["--beam-size"]) == "; did you mean '--beam-size'?"


def test_functions_and_classes_stay_what_they_are() -> None:
    assert area(Size(3), scale=2) == 12 and area(size=Size(height=1)) == 1
    assert list(inspect.signature(area).parameters) == ["size", "scale"]
    assert list(inspect.signature(Size).parameters) == ["width", "height"]
    assert dataclasses.replace(Size(), width=5) == Size(5)
    assert area.__doc__ == "Returns an area." and isinstance(Size(), Size)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Size(hieght=1), "Size has no argument 'hieght'; did you mean 'height'?"),
        (lambda: area(Size(), scales=1), "area has no argument 'scales'; did you mean 'scale'?"),
        (lambda: area(Size(), x=1), "area has no argument 'x'; it has size, scale."),
        (lambda: dataclasses.replace(Size(), with_=1), "Size has no argument 'with_'; did you"),
    ],
)
def test_an_unknown_keyword_is_answered_with_the_likeliest(call, message: str) -> None:
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value).startswith(message)


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'size'"):
        area()
