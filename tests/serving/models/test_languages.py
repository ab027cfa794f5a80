"""Languages as fields of a request: each row brings its own."""

from pathlib import Path

import numpy as np
import pytest

from keras_transformer.export import OnnxTranslator
from keras_transformer.search.options import SearchOptions
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.models.model import ServedModel
from keras_transformer.training.transfer.import_run import import_run

FIXTURES = Path(__file__).parents[2] / "fixtures" / "translators"
TEXT = "Two dogs run."
PAIRS = [("", ""), ("eng_Latn", "fra_Latn"), ("fra_Latn", "eng_Latn"), ("", "fra_Latn")]


@pytest.fixture(scope="module")
def artefact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artefact of a model of several languages."""
    from keras_transformer.cli import main

    folder = tmp_path_factory.mktemp("nllb")
    import_run(FIXTURES / "nllb", folder / "run")
    words = ["export", str(folder / "run"), "--format", "onnx", "--output", str(folder / "onnx")]
    assert main(words) == 0
    return folder / "onnx"


@pytest.fixture(scope="module")
def model(artefact: Path) -> ServedModel:
    """The model as it is served."""
    return ServedModel(artefact, SearchOptions(max_length=12))


def ask(model: ServedModel, pairs: list[tuple[str, str]]) -> list[str]:
    """Returns the translations of one text between pairs of languages."""
    signature = model.signatures["translate_between"]
    columns = [[TEXT] * len(pairs), *zip(*pairs, strict=True)]
    names = ("text", "source_language", "target_language")
    inputs = {
        name: np.array([value.encode() for value in column], object)
        for name, column in zip(names, columns, strict=True)
    }
    request = model.read(signature, inputs)
    results = model.run(signature)(request.rows)
    return [one.decode() for one in model.write(signature, request, results)["translation"]]


def test_rows_of_different_languages_answer_as_the_translator(
    model: ServedModel, artefact: Path
) -> None:
    with OnnxTranslator(artefact) as translator:
        expected = [
            translator.translate(
                [TEXT],
                max_length=12,
                source_language=source or None,
                target_language=target or None,
            )[0]
            for source, target in PAIRS
        ]
    assert len(set(expected)) > 1
    assert ask(model, PAIRS) == expected


def test_an_unknown_language_is_refused_by_row(model: ServedModel) -> None:
    with pytest.raises(ServingError, match=r"row 1: target_language .*got 'xx'") as refusal:
        ask(model, [("", ""), ("", "xx")])
    assert refusal.value.code == Code.INVALID_ARGUMENT
