"""export_saved_model: versions appear whole or not at all, and say what they are."""

import json
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from saved_models import answered_warmup

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.export import export_saved_model
from keras_transformer.export.saved_model import export as export_module
from keras_transformer.export.saved_model import search_content
from keras_transformer.export.saved_model.checks import check_answers, check_operators, live_answers
from keras_transformer.export.saved_model.searches import Translation
from keras_transformer.export.saved_model.signatures import SearchSignatures
from keras_transformer.search.options import SearchOptions
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from tools.covering import some


@pytest.fixture(scope="module")
def small_model(make_model: Callable[..., Any]) -> Any:
    """The least that can be exported."""
    return make_model(model_dim=8, feed_forward_dim=8, num_heads=1, num_decoder_layers=1)


@pytest.fixture
def save_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves graphs and checks out: for tests of what stands beside the graph."""
    monkeypatch.setattr(SearchSignatures, "make", lambda self, declared: {})
    monkeypatch.setattr(tf.saved_model, "save", lambda *arguments, **options: None)
    monkeypatch.setattr(export_module, "live_answers", lambda *arguments: {})
    monkeypatch.setattr(export_module, "check_operators", lambda *arguments: [])
    monkeypatch.setattr(export_module, "check_answers", lambda *arguments: 0.0)


@pytest.fixture
def write_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes a version that holds its description only: for tests of where it goes."""

    def write(*arguments: Any) -> None:
        [directory] = [one for one in arguments if isinstance(one, Path)]
        (directory / "assets.extra").mkdir()
        (directory / export_module.DESCRIPTION_FILE).write_text("{}")

    monkeypatch.setattr(export_module, "_write", write)


# What is written.


def test_the_description_says_what_a_server_must_have(text_served: Any, ids_served: Any) -> None:
    described = {
        name: json.loads((served.path / "assets.extra" / "export.json").read_text())
        for name, served in (("text", text_served), ("ids", ids_served))
    }
    for name, found in described.items():
        assert found["signatures"] == name
        assert found["config"] == text_served.model.config.to_dict()
        assert found["max_source_length"] == 30
        assert found["search"]["beam_size"] == 3
        assert 0 <= found["max_difference"] <= 1e-4
        assert found["producer"]["tensorflow"] == tf.__version__
    assert described["ids"]["operators_outside_tensorflow"] == []
    assert described["text"]["operators_outside_tensorflow"] == [
        "SentencepieceDetokenizeOp",
        "SentencepieceOp",
        "SentencepieceTokenizeOp",
    ]


@pytest.mark.parametrize("name", some(["text_served", "ids_served"], "text_served"))
def test_warmup_requests_run(request: pytest.FixtureRequest, name: str) -> None:
    served = request.getfixturevalue(name)
    asked = [spec for spec, _ in answered_warmup(served.path, served.run)]
    assert {spec.name for spec in asked} == {served.path.parent.name}
    names = {"translate_n_best", "score", "encode", "translate_ids", "translate_with_options"}
    assert {spec.signature_name for spec in asked} == {*names, "serving_default"}


def test_without_the_protos_no_warmup_is_written(
    small_model: Any,
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    save_nothing: None,
) -> None:
    monkeypatch.setattr(export_module, "can_write_warmup", lambda: False)
    path = export_saved_model(small_model, tmp_path / "demo", tokenizer=tokenizer)
    assert json.loads((path / "assets.extra" / "export.json").read_text())["warmup"] is False
    assert os.listdir(path / "assets.extra") == ["export.json"]


def test_a_bfloat16_model_is_exported_in_float32(
    make_model: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    save_nothing: None,
) -> None:
    written = []

    def remember(model: Any, *others: Any) -> Translation:
        written.append(model)
        return Translation(model, *others)

    monkeypatch.setattr(search_content, "Translation", remember)
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = make_model(model_dim=8, feed_forward_dim=8, num_heads=1, num_decoder_layers=1)
    export_saved_model(model, tmp_path / "demo", tokenizer=tokenizer)
    assert keras.config.dtype_policy().name == "mixed_bfloat16"
    assert {layer.compute_dtype for layer in written[0].layers} == {"float32"}
    for found, wanted in zip(written[0].get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.exhaustive
def test_a_large_model_takes_little_more_than_its_weights(
    make_model: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(export_module, "live_answers", lambda *arguments: {})
    monkeypatch.setattr(export_module, "check_answers", lambda *arguments: 0.0)
    model = make_model(model_dim=640, feed_forward_dim=5120, num_decoder_layers=1)
    path = export_saved_model(model, tmp_path / "demo", tokenizer=tokenizer, max_length=4)
    size = sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
    assert size <= 1.05 * 4 * model.config.parameter_count


def test_each_stage_is_announced(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path, save_nothing: None
) -> None:
    lines: list[str] = []
    export_saved_model(small_model, tmp_path / "demo", tokenizer=tokenizer, progress=lines.append)
    assert lines == [
        "tracing the signatures",
        "writing the SavedModel",
        "asking the live model",
        "comparing its answers in a session",
    ]


def test_a_run_brings_its_own_tokenizers(
    small_model: Any,
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    write_little: None,
) -> None:
    run, runs = tmp_path / "runs" / "demo", []
    run.mkdir(parents=True)
    (run / "config.json").touch()

    def load_run(directory: Path) -> tuple[Any, Tokenizer, Tokenizer]:
        runs.append(directory)
        return small_model, tokenizer, tokenizer

    monkeypatch.setattr(export_module, "load_run", load_run)
    assert export_saved_model(run, tmp_path / "demo") == tmp_path / "demo" / "1"
    assert runs == [run]
    with pytest.raises(TypeError, match="the run .*demo has its own tokenizers"):
        export_saved_model(run, tmp_path / "new", tokenizer=tokenizer)


# What is impossible.


def test_missing_hypotheses_have_no_tokens_and_the_lowest_number(small_model: Any) -> None:
    options = SearchOptions(
        beam_size=3, num_hypotheses=3, max_length=2, forced_tokens=((0, 5), (1, 6))
    )
    none = np.zeros((1, 0), np.int32)
    found = Translation(small_model, options, 9).search(np.array([[7, 8]], np.int32), none, none)
    assert found.ids.numpy().tolist() == [[[5, 6], [0, 0], [0, 0]]]
    for values in (found.scores.numpy()[0], found.log_probabilities.numpy()[0]):
        assert values[0] < 0 and values[1:].tolist() == [LOWEST, LOWEST]


# Where it is written.


def test_a_version_stands_beside_others_and_is_replaced_only_when_asked(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path, write_little: None
) -> None:
    for version in (1, 20):
        export_saved_model(small_model, tmp_path, tokenizer=tokenizer, version=version)
    assert sorted(os.listdir(tmp_path)) == ["1", "20"]
    (tmp_path / "20" / "old").touch()
    with pytest.raises(FileExistsError, match="20 exists: choose another"):
        export_saved_model(small_model, tmp_path, tokenizer=tokenizer, version=20)
    assert (tmp_path / "20" / "old").exists()
    export_saved_model(small_model, tmp_path, tokenizer=tokenizer, version=20, overwrite=True)
    assert not (tmp_path / "20" / "old").exists()
    assert sorted(os.listdir(tmp_path)) == ["1", "20"]


def test_a_directory_that_is_no_export_is_never_replaced(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path, write_little: None
) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="not an artefact"):
        export_saved_model(small_model, tmp_path, tokenizer=tokenizer, overwrite=True)
    assert (tmp_path / "1" / "thesis.txt").read_text() == "years of work"


def test_an_onnx_artefact_is_no_base_directory(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "manifest.json").touch()
    with pytest.raises(ValueError, match="is an ONNX artefact"):
        export_saved_model(small_model, tmp_path, tokenizer=tokenizer)


def test_while_it_is_written_no_server_takes_it_for_a_version(
    small_model: Any,
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    save_nothing: None,
) -> None:
    seen = []

    def fail(*arguments: Any) -> None:
        seen.extend(os.listdir(tmp_path))
        raise OSError("no space left")

    monkeypatch.setattr(export_module, "check_answers", fail)
    with pytest.raises(OSError, match="no space left"):
        export_saved_model(small_model, tmp_path, tokenizer=tokenizer)
    [name] = seen
    assert name.startswith(".1.") and not name.isdigit()
    assert os.listdir(tmp_path) == []


# What is refused.


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"version": 0}, ValueError, "version must be at least 1, got 0"),
        ({"version": "new"}, TypeError, "version must be an integer, got 'new'"),
        ({"max_source_length": 0}, ValueError, "max_source_length must be at least 1, got 0"),
        ({"signatures": "bytes"}, ValueError, "signatures must be one of text, ids, got 'bytes'"),
        ({"sample": True}, ValueError, "sample=True cannot be exported"),
        ({"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        ({"beams": 4}, TypeError, "beams"),
        ({"banned_sequences": [[60]]}, ValueError, "banned_sequences names token 60"),
        ({"tokenizer": None}, TypeError, "a model needs its tokenizer"),
    ],
    ids=str,
)
def test_wrong_options_are_named(
    small_model: Any,
    tokenizer: Tokenizer,
    tmp_path: Path,
    options: dict[str, Any],
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        export_saved_model(small_model, tmp_path, **{"tokenizer": tokenizer, **options})
    assert os.listdir(tmp_path) == []


def test_a_foreign_tokenizer_is_refused(small_model: Any, texts: list[str], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="source tokenizer has 50 ids"):
        export_saved_model(small_model, tmp_path, tokenizer=train_tokenizer(texts, 50, "bpe"))


# The checks themselves.


def test_another_answer_in_the_session_is_found(tmp_path: Path) -> None:
    count = tf.function(
        lambda rows: {"doubled": 2 * rows, "half": tf.cast(rows, tf.float32) / 2},
        input_signature=[tf.TensorSpec((None,), tf.int32, "rows")],
    )
    tf.saved_model.save(tf.Module(), str(tmp_path), signatures={"count": count})
    rows = np.array([1, 2, 3], np.int32)
    right = {"doubled": 2 * rows, "half": rows.astype(np.float32) / 2}

    def check(**changes: np.ndarray) -> float:
        wanted = {"count": {**right, **changes}}
        return check_answers(tmp_path, wanted, {"count": {"rows": rows}})

    assert check() == 0
    assert 0 < check(half=right["half"] + np.float32(5e-5)) < 1e-4
    for name, wrong in (
        ("doubled", right["doubled"] + 1),
        ("half", right["half"] + np.float32(1e-3)),
        ("half", right["half"] * np.float32(np.nan)),
        ("half", right["half"][None]),
    ):
        with pytest.raises(ValueError, match=f"count.{name} is .* in a session"):
            check(**{name: wrong})


def test_live_functions_are_let_go_once_they_have_answered() -> None:
    @tf.function(input_signature=[tf.TensorSpec((None,), tf.int32, "rows")], autograph=False)
    def double(rows: Any) -> dict[str, Any]:
        return {"doubled": 2 * rows}

    before = tf.config.optimizer.get_experimental_options()
    graph = weakref.ref(double.get_concrete_function().graph)
    functions = {"double": double.get_concrete_function()}
    del double
    found = live_answers(functions, {"double": {"rows": np.array([1, 2], np.int32)}})
    assert found["double"]["doubled"].tolist() == [2, 4]
    assert functions == {}
    assert graph() is None
    assert tf.config.optimizer.get_experimental_options() == before


def test_what_servers_cannot_run_is_found(ids_served: Any, tmp_path: Path) -> None:
    count = len(ids_served.model.weights)
    assert check_operators(ids_served.path, count) == []
    with pytest.raises(ValueError, match=f"holds {count} variables, but the model {count + 1}"):
        check_operators(ids_served.path, count + 1)
    module = tf.Module()
    module.python = tf.function(
        lambda x: tf.numpy_function(np.sin, [x], tf.float32),
        input_signature=[tf.TensorSpec((), tf.float32)],
    )
    tf.saved_model.save(module, str(tmp_path))
    with pytest.raises(ValueError, match="must not hold the operators PyFunc"):
        check_operators(tmp_path, 0)
