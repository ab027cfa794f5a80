"""An imported model searches as it was meant to, in every command, engine and export, until a
caller says otherwise; and so do the runs that are made from it.
"""

import io
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from keras_transformer import OnnxTranslator, Translator, load_run, load_search, train
from keras_transformer.cli import main
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.export import export_pretrained, export_run, export_saved_model
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.serving.families.opening import open_model
from keras_transformer.serving.settings import ServeOptions
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.transfer.import_run import import_run
from keras_transformer.training.transfer.update_vocabulary import update_vocabulary

pytestmark = pytest.mark.usefixtures("few_updates")

FOLDER = Path(__file__).parents[2] / "fixtures" / "translators"
THEIRS = {
    "num_beams": 3,
    "length_penalty": 0.4,
    "early_stopping": True,
    # Theirs count the decoder's first input.
    "max_length": 10,
    "min_length": 4,
    "no_repeat_ngram_size": 2,
    "bad_words_ids": [[255], [7], [8, 9]],
    "forced_bos_token_id": 20,
    "temperature": 0.5,
}
OWN = {
    "beam_size": 3,
    "length_penalty": 0.4,
    "length_penalty_type": "exponent",
    "early_stopping": "first",
    "max_length": 9,
    "min_length": 3,
    "no_repeat_ngram_size": 2,
    "banned_sequences": [[7], [8, 9]],
    "forced_tokens": [[0, 20]],
}
# What holds as soon as samples are wanted.
DRAWN = {"temperature": 0.5}
TEXTS = ["Carlos is walking in the square right now.", "I explain the question on Fridays."]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(FOLDER / "marian_huggingface", folder / "theirs")
    (folder / "theirs" / "generation_config.json").write_text(json.dumps(THEIRS))
    return import_run(folder / "theirs", folder / "run")


@pytest.fixture(scope="module")
def plain(run: Path) -> Callable[..., list[str]]:
    """`plain(**options)`: translations of the model without any defaults of its own."""
    translator = Translator(*load_run(run))
    return lambda **options: translator.translate(TEXTS, **options)


@pytest.fixture(scope="module")
def artefact(run: Path) -> Path:
    return export_run(run, run.parent / "onnx")


@pytest.mark.exhaustive
def test_the_keras_translator_takes_them_until_told_otherwise(
    run: Path, plain: Callable[..., list[str]]
) -> None:
    assert load_search(run) == {**OWN, **DRAWN}
    assert plain(**OWN) != plain()
    translator = Translator(*load_run(run), search=load_search(run))
    assert translator.translate(TEXTS) == plain(**OWN)
    assert translator.translate(TEXTS, beam_size=1) == plain(**{**OWN, "beam_size": 1})
    [streamed] = plain(**{**OWN, "beam_size": 1})[:1]
    assert "".join(translator.translate_stream(TEXTS[0])) == streamed


@pytest.mark.exhaustive
def test_exports_take_them(run: Path, artefact: Path, plain: Callable[..., list[str]]) -> None:
    expected, greedy = plain(**OWN), plain(**{**OWN, "beam_size": 1})
    with OnnxTranslator(artefact) as translator:
        assert translator.manifest.search == {**OWN, **DRAWN}
        assert translator.translate(TEXTS) == expected
        assert translator.translate(TEXTS, beam_size=1) == greedy
    served = open_model(artefact, ServeOptions(artefact=artefact), {})
    assert (served.search.beam_size, served.search.max_length) == (3, 9)
    served.close()


@pytest.mark.exhaustive
def test_a_saved_model_takes_them(
    run: Path, plain: Callable[..., list[str]], tmp_path: Path
) -> None:
    saved = export_saved_model(run, tmp_path / "saved", beam_size=1)
    answer = tf.saved_model.load(str(saved)).signatures["serving_default"]
    found = answer(text=tf.constant(TEXTS))["translation"].numpy()
    assert [text.decode() for text in found] == plain(**{**OWN, "beam_size": 1})


def test_hugging_face_s_form_takes_them(run: Path, tmp_path: Path) -> None:
    again = export_pretrained(run, tmp_path / "again", format="huggingface")
    written = json.loads((again / "generation_config.json").read_text())
    assert {**THEIRS, "bad_words_ids": [[255], [7], [8, 9]]}.items() <= written.items()
    assert read_pretrained(again).search == {**OWN, **DRAWN}


@pytest.mark.parametrize(
    "is_exported",
    [
        pytest.param(False, marks=pytest.mark.exhaustive, id="run"),
        pytest.param(True, id="artefact"),
    ],
)
def test_commands_take_and_show_them(
    is_exported: bool,
    run: Path,
    artefact: Path,
    plain: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def translate(*flags: str) -> tuple[list[str], str]:
        lines = io.TextIOWrapper(io.BytesIO("".join(f"{text}\n" for text in TEXTS).encode()))
        monkeypatch.setattr(sys, "stdin", lines)
        assert main(["translate", str(artefact if is_exported else run), *flags]) == 0
        said = capsys.readouterr()
        return said.out.splitlines(), said.err

    found, said = translate()
    assert found == plain(**OWN)
    assert (
        "translate: search options of the imported model, which flags override: beam_size=3, "
        in said
    )
    # The default of ours, given: it is not taken for nothing.
    found, said = translate("--beam-size", "1")
    assert found == plain(**{**OWN, "beam_size": 1})
    assert "override: length_penalty=0.4, " in said


@pytest.mark.exhaustive
def test_what_is_made_from_the_run_keeps_them(run: Path, tmp_path: Path) -> None:
    pairs = Pairs(tuple(TEXTS), tuple(reversed(TEXTS)), "texts")
    options = TrainOptions(max_steps=1, learning_rate=1e-9, label_smoothing=0.0)
    train(Corpus(pairs), tmp_path / "tuned", init=run, options=options)
    assert load_search(tmp_path / "tuned") == {**OWN, **DRAWN}
    more = update_vocabulary(run, tmp_path / "more", ["Xylophon"], ["Xylophon"])
    assert load_search(more) == {**OWN, **DRAWN}


def test_a_model_into_one_language_says_so_where_it_searches(tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "mbart50", tmp_path / "theirs")
    before = read_pretrained(tmp_path / "theirs").config.marks
    code, token = next(
        pair for pair in before.languages.items() if pair[0] != before.target_language
    )
    theirs = {"forced_bos_token_id": token, "max_new_tokens": 30}
    (tmp_path / "theirs" / "generation_config.json").write_text(json.dumps(theirs))
    found = read_pretrained(tmp_path / "theirs")
    assert found.config.marks.target_language == code
    assert found.search == {"max_length": 30}
