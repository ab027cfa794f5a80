"""keras_transformer/suggestions.py: the likeliest known name of one that is misspelt."""

import dataclasses
import inspect

import pytest

import keras_transformer
import keras_transformer.export as export
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


def public_callables() -> list[tuple[str, object, str]]:
    """Returns the public names of both packages, each with its last keyword."""
    found = []
    for package in (keras_transformer, export):
        for name in package.__all__:
            value = getattr(package, name)
            last = list(inspect.signature(value).parameters.values())[-1]
            # Some of Keras's classes take any keyword and refuse what they do not know.
            if last.kind != inspect.Parameter.VAR_KEYWORD:
                found.append((name, value, last.name))
    return found


def test_every_public_name_tells_what_a_misspelt_keyword_means() -> None:
    calls = public_callables()
    assert len(calls) > 40
    for name, value, keyword in calls:
        with pytest.raises(TypeError) as error:
            value(**{keyword + "s": 1})
        expected = f"{name} has no argument {keyword + 's'!r}; did you mean {keyword!r}?"
        assert str(error.value) == expected


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda: keras_transformer.TrainOptions(epoch=3), "epochs"),
        (lambda: keras_transformer.TrainOptions.preset("tiny", epoch=3), "epochs"),
        (lambda: keras_transformer.TrainOptions.preset("tinny"), "tiny"),
        (lambda: keras_transformer.TransformerConfig.preset("bas", vocab_size=9), "base"),
        (
            lambda: keras_transformer.EncoderConfig.preset("bert-tiny", vocab_size=9, dropot=0),
            "dropout",
        ),
        (lambda: keras_transformer.SearchOptions(early_stopping="frist"), "first"),
        (lambda: export.export_run("run", "to", quantise="int8"), "quantize"),
        (lambda: export.export_saved_model("run", "to", beam_sise=4), "beam_size"),
        (lambda: keras_transformer.OnnxTranslater, "OnnxTranslator"),
    ],
)
def test_options_presets_and_names_are_told(call, meant: str) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError), match=f"did you mean '{meant}'"):
        call()


def test_the_typed_keywords_of_export_run_are_those_of_export_onnx() -> None:
    from keras_transformer.export.onnx.from_run import OnnxKeywords

    parameters = inspect.signature(export.export_onnx).parameters.values()
    wanted = {one.name: one.annotation for one in parameters if one.kind == one.KEYWORD_ONLY}
    del wanted["shortlist"]  # `export_run` learns one.
    assert OnnxKeywords.__annotations__ == wanted
