"""Runs made of models of others: every command takes them, training goes on from them."""

import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
import yaml

from keras_transformer import from_pretrained, load_run, train
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.export import export_pretrained
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.transfer.import_run import import_run

pytestmark = pytest.mark.usefixtures("few_updates")

FOLDER = Path(__file__).parents[2] / "fixtures" / "translators"


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    reference = json.loads((FOLDER / "nllb" / "reference.json").read_text())
    return Pairs(tuple(reference["sources"]), tuple(reference["targets"]), "references")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_run(FOLDER / "nllb", tmp_path_factory.mktemp("runs") / "nllb")


def test_a_run_is_the_model(run: Path) -> None:
    theirs, *their_tokenizers = from_pretrained(FOLDER / "nllb")
    ours, *own_tokenizers = load_run(run)
    assert ours.config == theirs.config
    for own, other in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_array_equal(own, other)
    assert [one.model for one in own_tokenizers] == [one.model for one in their_tokenizers]
    assert RunDirectory(run).is_imported


def test_default_languages_are_those_of_the_import(tmp_path: Path, run: Path) -> None:
    other = import_run(
        FOLDER / "nllb", tmp_path / "run", source_language="fra_Latn", target_language="eng_Latn"
    )
    marks, before = (RunDirectory(path).load_config().marks for path in (other, run))
    assert marks.begins() == before.begins("fra_Latn", "eng_Latn")
    with pytest.raises(ValueError, match="target_language must be one of"):
        import_run(FOLDER / "nllb", tmp_path / "none", target_language="xxx_Latn")
    assert not (tmp_path / "none").exists()
    with pytest.raises(ValueError, match="between two languages only"):
        import_run(FOLDER / "t5", tmp_path / "none", target_language="eng_Latn")


def test_a_directory_with_something_in_it_is_kept(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is not empty"):
        import_run(FOLDER / "t5", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("name", "rehearsal"),
    [
        ("nllb", 0.0),
        pytest.param("nllb", 1.0, marks=pytest.mark.exhaustive),
        pytest.param("t5", 1.0, marks=pytest.mark.exhaustive),
        pytest.param("marian", 1.0, marks=pytest.mark.exhaustive),
        pytest.param("marian_ssru", 1.0, marks=pytest.mark.exhaustive),
    ],
)
def test_training_goes_on_from_an_imported_model(
    name: str, rehearsal: float, pairs: Pairs, tmp_path: Path
) -> None:
    start = import_run(FOLDER / name, tmp_path / "imported")
    steps = {"max_steps": 1, "learning_rate": 1e-9, "label_smoothing": 0.0}
    options = TrainOptions(**steps, rehearsal=rehearsal, bleu_sentences=0)
    model = train(Corpus(pairs), tmp_path / "run", init=start, options=options).model
    config = RunDirectory(start).load_config()
    assert model.config == config
    before = keras.saving.load_model(RunDirectory(start).model).get_weights()
    for ours, theirs in zip(model.get_weights(), before, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.exhaustive
def test_a_fine_tuned_marian_leaves_as_marian(
    pairs: Pairs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = Path(shutil.copytree(FOLDER / "marian", tmp_path / "theirs"))
    decoder = {"vocabs": ["vocab.spm"] * 2, "beam-size": 2, "normalize": 1.0, "word-penalty": 0.5}
    (theirs / "decoder.yml").write_text(yaml.safe_dump(decoder))
    start = import_run(theirs, tmp_path / "imported")
    assert "of its search, this is not taken over: word-penalty=0.5" in capsys.readouterr().out
    steps = {"max_steps": 1, "learning_rate": 0.01, "warmup_steps": 1, "rehearsal": 0.0}
    options = TrainOptions(**steps, label_smoothing=0.1, bleu_sentences=0)
    model = train(Corpus(pairs), tmp_path / "run", init=start, options=options).model
    before = load_run(start)[0]
    changed = np.abs(np.array(model.head.matrix) - before.head.matrix)[:, :-1].max(axis=1)
    assert (changed[:-1] > 1e-3).all() and changed[-1] == 0
    written = export_pretrained(tmp_path / "run", tmp_path / "out", format="marian")
    searches = yaml.safe_load((written / "decoder.yml").read_text())
    assert (searches["beam-size"], searches["normalize"]) == (2, 1.0)
    again = from_pretrained(written)[0]
    for found, ours in zip(again.weights, model.weights, strict=True):
        np.testing.assert_allclose(found, ours, atol=10 if ours.path == "head/bias" else 0)
