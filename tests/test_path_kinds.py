"""keras_transformer/path_kinds.py: what a path holds, where a model of another form was wanted."""

from pathlib import Path

import pytest

from keras_transformer import OnnxGenerator, OnnxTranslator, SentenceTranslator, load_run
from keras_transformer.cli import main
from keras_transformer.path_kinds import describe_path, is_run

RUN = {"config.json": "{}", "model.keras": "", "training.json": "{}"}
EXPORTED = {"manifest.json": '{"format": "keras-transformer-onnx"}'}
FOREIGN = {"config.json": '{"model_type": "marian"}', "model.safetensors": ""}
VERSIONS = {f"a/{number}/manifest.json": "" for number in range(1, 7)}
MIXED_UP = [
    ({f"first/{name}": text for name, text in RUN.items()}, "first", "is a training run: export"),
    ({"a/config.json": "{}", "a/losses.tsv": ""}, "a", "is a training run that has not finished"),
    ({"a/1/saved_model.pb": ""}, "a", "is a SavedModel"),
    ({"a/1/saved_model.pb": ""}, "a/1", "is a SavedModel"),
    ({f"a/{name}": text for name, text in FOREIGN.items()}, "a", "keras-transformer import"),
    ({"a/model.bin": "", "a/config.json": "{}"}, "a", "keras-transformer import"),
    ({"a/model.npz": "", "a/vocab.yml": ""}, "a", "keras-transformer import"),
    (VERSIONS, "a", "holds exported artefacts: give one of them (a/1, a/2, a/3, a/4, ...)"),
    ({"a/x/model.keras": ""}, "a", "holds training runs: give one of them (a/x)"),
    ({"a/manifest.json": "{}"}, "a/manifest.json", "is a file of a model: give its directory, a."),
    ({"a/model.keras": ""}, "a/model.keras", "is a file of a model: give its directory, a."),
    ({"notes.txt": ""}, "notes.txt", "is a file: give a directory."),
    ({"a/encoder.onnx": ""}, "a", "holds ONNX graphs without the manifest.json"),
]


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("files", "path", "told"), MIXED_UP)
@pytest.mark.parametrize("open_model", [OnnxTranslator, OnnxGenerator])
def test_what_is_given_for_an_artefact_is_told(open_model, files, path: str, told: str) -> None:
    write(files)
    with pytest.raises(FileNotFoundError) as error:
        open_model(path)
    assert path in str(error.value) and told in str(error.value)


@pytest.mark.parametrize(("files", "path", "told"), MIXED_UP[2:])
def test_what_is_given_for_a_run_is_told(files, path: str, told: str, capsys) -> None:
    write(files)
    with pytest.raises(FileNotFoundError) as error:
        load_run(path)
    assert told in str(error.value)
    assert main(["translate", path]) == main(["export", path, "--output", "to"]) == 1
    assert capsys.readouterr().err.count(told) == 2


def test_an_artefact_or_a_corpus_is_no_run() -> None:
    write({"a/manifest.json": EXPORTED["manifest.json"], "b/manifest.json": '{"format": 1}'})
    with pytest.raises(FileNotFoundError, match="a is an exported artefact .* give the training"):
        load_run("a")
    with pytest.raises(FileNotFoundError, match="b is a prepared corpus"):
        load_run("b")
    with pytest.raises(ValueError, match=r"got 1\. A number is that of a prepared corpus"):
        OnnxTranslator("b")


def test_the_command_that_exports_is_given_whole() -> None:
    write({f"runs/first/{name}": text for name, text in RUN.items()})
    told = "`keras-transformer export runs/first --format onnx --output exported/first`"
    assert told in describe_path(Path("runs/first")) and is_run(Path("runs/first"))


def test_nothing_is_told_of_what_is_unknown() -> None:
    Path("empty").mkdir()
    write({"other/readme.md": ""})
    assert describe_path(Path("empty")) == " empty is empty."
    assert describe_path(Path("other")) == describe_path(Path("none")) == ""
    with pytest.raises(FileNotFoundError, match="there is no directory none"):
        load_run("none")


def test_a_sentence_translator_needs_a_translator() -> None:
    with pytest.raises(TypeError, match="must be a Translator or an OnnxTranslator, got str: open"):
        SentenceTranslator("exported/first")
