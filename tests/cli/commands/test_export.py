"""`export`: a run directory reaches the exporter of its format, and what cannot work is told at
once.
"""

import json
from pathlib import Path

import pytest

import keras_transformer.export
from keras_transformer.export.onnx.settings import Quantization
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.training_text import TrainingText


@pytest.fixture
def exporter(monkeypatch, tmp_path: Path) -> list[tuple]:
    """What reaches `export_run` or `export_saved_model`, which are not run, from a run that is not
    read."""
    # Where nobody has a runs/demo.
    monkeypatch.chdir(tmp_path)
    made: list[tuple] = []

    def export_run(run, directory, **settings) -> Path:
        made.append((run, directory, settings))
        return directory

    def export_saved_model(model, directory, **settings) -> Path:
        made.append((model, directory, settings))
        settings["progress"]("half way")
        written = directory / str(settings["version"])
        (written / "assets.extra").mkdir(parents=True)
        described = {"operators_outside_tensorflow": ["AOp", "BOp"], "warmup": False}
        if settings["signatures"] == "ids":
            described = {"operators_outside_tensorflow": [], "warmup": True}
        (written / "assets.extra" / "export.json").write_text(json.dumps(described))
        return written

    # Into its dictionary: asking for the names would load them, TensorFlow included.
    monkeypatch.setitem(vars(keras_transformer.export), "export_run", export_run)
    monkeypatch.setitem(vars(keras_transformer.export), "export_saved_model", export_saved_model)
    monkeypatch.setattr(
        "keras_transformer.cli.commands.export.load_run", lambda directory: ("m", "s", "s")
    )
    monkeypatch.setattr(
        "keras_transformer.cli.commands.export.check_finished_run", lambda directory: None
    )
    monkeypatch.setattr("keras_transformer.cli.commands.export.load_training", lambda: None)
    monkeypatch.setattr(RunDirectory, "load_min_score", lambda run: -2.5)
    monkeypatch.setattr(RunDirectory, "load_training_text", lambda run: None)
    return made


def test_run_and_settings_reach_the_exporter(run_cli, exporter, tmp_path) -> None:
    output = tmp_path / "exported"
    flags = ["--format", "onnx", "--output", output, "--opset", 19, "--quantize", "int8"]
    result = run_cli("export", "runs/demo", *flags)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"exported runs/demo to {output}\n"
    settings = {"target": "fastest", "quantize": "int8", "opset": 19, "overwrite": False}
    settings |= {"shortlist": None, "shortlist_candidates": 50}
    settings |= {"quantization": Quantization(), "adapters": False, "progress": print}
    assert exporter == [(Path("runs/demo"), output, settings)]


def test_a_calibration_text_and_its_limit_reach_the_exporter(run_cli, exporter, tmp_path) -> None:
    (tmp_path / "texts").write_text("a house\na red house\n")
    flags = ["--quantize", "int4", "--calibrate", tmp_path / "texts", "--max-loss", 0.05]
    flags += ["--block-size", 128, "--zero-points"]
    result = run_cli("export", "runs/demo", "--output", tmp_path / "exported", *flags)
    assert (result.code, result.err) == (0, "")
    [(_, _, settings)] = exporter
    texts = ["a house", "a red house"]
    wanted = {"block_size": 128, "zero_points": True, "calibration": texts, "max_loss": 0.05}
    assert settings["quantization"] == Quantization(**wanted)


def test_settings_and_search_reach_the_saved_model(run_cli, exporter, tmp_path) -> None:
    output = tmp_path / "exported"
    flags = "--format saved_model --version 7 --max-source-length 90 --beam-size 4 --max-length 50"
    result = run_cli("export", "runs/demo", *flags.split(), "--output", output)
    assert result.code == 0
    assert result.err.splitlines() == [
        "keras-transformer export: loading runs/demo",
        "keras-transformer export: half way",
    ]
    assert result.out.splitlines() == [
        f"exported runs/demo to {output / '7'}",
        "operators outside TensorFlow that a server must have: AOp, BOp",
        "no warm-up requests were written: that needs "
        '`pip install "keras-seq2seq-transformer[grpc]"`, then export again.',
    ]
    [(model, directory, settings)] = exporter
    assert (model, directory) == ("m", output)
    wanted = {
        "tokenizer": "s",
        "target_tokenizer": "s",
        "version": 7,
        "signatures": "text",
        "max_source_length": 90,
        "min_score": -2.5,
        "overwrite": False,
        "beam_size": 4,
        "max_length": 50,
        "sample": False,
    }
    assert wanted.items() <= settings.items()


@pytest.mark.parametrize("format", ["marian", "huggingface", "ctranslate2"])
def test_a_run_reaches_the_exporter_of_other_toolkits(
    run_cli, exporter, tmp_path, monkeypatch, format
) -> None:
    made: list[tuple] = []

    def export_pretrained(run, directory, **settings) -> Path:
        made.append((run, directory, settings))
        return directory

    monkeypatch.setitem(vars(keras_transformer.export), "export_pretrained", export_pretrained)
    output = tmp_path / "exported"
    result = run_cli("export", "runs/demo", "--format", format, "--output", output)
    assert (result.code, result.out) == (0, f"exported runs/demo to {output}\n")
    assert made == [(Path("runs/demo"), output, {"format": format, "overwrite": False})]
    for flags in (["--quantize", "int8"], ["--beam-size", 4], ["--version", 7]):
        result = run_cli("export", "runs/demo", "--format", format, "--output", output, *flags)
        assert result.code == 1
        assert f"{flags[0]} does not go with --format {format}: leave it out." in result.err
    output.mkdir()
    result = run_cli("export", "runs/demo", "--format", format, "--output", output)
    assert f"{output} exists: choose another directory, or --overwrite." in result.err


def test_other_toolkits_are_said_to_keep_no_spans(run_cli, exporter, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(
        vars(keras_transformer.export), "export_pretrained", lambda run, directory, **_: directory
    )
    seen = TrainingText(longest_source=5, sentences=(1,), markup="html")
    monkeypatch.setattr(RunDirectory, "load_training_text", lambda run: seen)
    result = run_cli("export", "runs/demo", "--format", "ctranslate2", "--output", tmp_path / "out")
    assert "trained with --markup html, and other toolkits keep no spans" in result.out


def test_signatures_of_ids_need_no_operators(run_cli, exporter, tmp_path) -> None:
    flags = ["--format", "saved_model", "--signatures", "ids", "--output", tmp_path / "exported"]
    result = run_cli("export", "runs/demo", *flags)
    assert "operators outside TensorFlow that a server must have: none\n" in result.out
    assert "warm-up" not in result.out


def test_of_an_encoder_only_chosen_options_are_passed_on(run_cli, exporter, tmp_path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text('{"family": "encoder"}')
    flags = ["--format", "saved_model", "--num-hypotheses", 7, "--output", tmp_path / "exported"]
    assert run_cli("export", tmp_path / "run", *flags).code == 0
    [(_, _, settings)] = exporter
    assert settings["num_hypotheses"] == 7
    assert not {"beam_size", "banned_sequences", "forced_tokens", "sample"} & set(settings)


def test_an_existing_output_is_kept_unless_asked(run_cli, exporter, tmp_path) -> None:
    result = run_cli("export", "runs/demo", "--output", tmp_path)
    assert (result.code, exporter) == (1, [])
    assert f"{tmp_path} exists: choose another directory, or --overwrite." in result.err
    assert run_cli("export", "runs/demo", "--output", tmp_path, "--overwrite").code == 0
    assert exporter[0][2]["overwrite"] is True


@pytest.mark.parametrize(("given", "passed"), [([], "auto"), (["--casing", "keep"], "keep")])
def test_a_saved_model_recases_as_it_is_told(run_cli, exporter, tmp_path, given, passed) -> None:
    result = run_cli("export", "runs/demo", "--format", "saved_model", "--output", tmp_path, *given)
    assert result.code == 0 and exporter[0][2]["casing"] == passed
    assert "reads texts in capitals as they are" not in result.out


def test_another_toolkit_s_model_does_not_recase_which_is_told(
    run_cli, exporter, tmp_path, monkeypatch
) -> None:
    (tmp_path / "config.json").write_text('{"family": "encoder-decoder"}')
    written = {"export_pretrained": lambda run, directory, **_: directory}
    monkeypatch.setitem(vars(keras_transformer.export), *written.popitem())
    flags = ["--format", "marian", "--output", tmp_path / "made"]
    assert "reads texts in capitals as they are" in run_cli("export", tmp_path, *flags).out


def test_of_a_saved_model_only_the_version_must_not_exist(run_cli, exporter, tmp_path) -> None:
    flags = ["--format", "saved_model", "--output", tmp_path]
    assert run_cli("export", "runs/demo", *flags).code == 0
    result = run_cli("export", "runs/demo", *flags)
    assert result.code == 1
    assert f"{tmp_path / '1'} exists: choose another directory, or --overwrite." in result.err
    assert run_cli("export", "runs/demo", *flags, "--version", 2).code == 0
    assert [settings["version"] for _, _, settings in exporter] == [1, 2]


def test_an_artefact_in_place_of_a_run_is_told(run_cli, tmp_path) -> None:
    (tmp_path / "manifest.json").touch()
    result = run_cli("export", tmp_path, "--output", tmp_path / "new")
    assert result.code == 1 and result.err.count("\n") == 1
    assert f"{tmp_path} is an exported artefact" in result.err and "training run" in result.err


def test_an_unfinished_run_is_told(run_cli, tmp_path) -> None:
    (tmp_path / "config.json").write_text('{"source_vocab_size": 20}')
    result = run_cli("export", tmp_path, "--output", tmp_path / "exported")
    assert result.code == 1
    assert "model.keras is missing" in result.err and "--resume" in result.err


@pytest.mark.parametrize(
    ("chosen", "flag", "value"),
    [
        ("onnx", "--beam-size", "4"),
        ("onnx", "--version", "2"),
        ("onnx", "--signatures", "ids"),
        ("saved_model", "--quantize", "int8"),
        ("saved_model", "--target", "portable"),
        ("saved_model", "--opset", "19"),
    ],
)
def test_options_of_the_other_format_are_refused(
    run_cli, exporter, tmp_path, chosen: str, flag: str, value: str
) -> None:
    output = tmp_path / "out"
    result = run_cli("export", "runs/demo", "--output", output, "--format", chosen, flag, value)
    assert (result.code, exporter) == (1, [])
    assert f"{flag} does not go with --format {chosen}: leave it out." in result.err
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (
            "--output x --format tflite",
            "--format expects one of onnx, saved_model, marian, huggingface, ctranslate2, "
            "keras_hub, got 'tflite'.",
        ),
        ("--output x --opset high", "--opset expects an integer, got 'high'."),
        ("--output x --format saved_model --top-k 5", "--top-k"),
        ("", "missing: --output; see --help."),
    ],
)
def test_wrong_flags_are_told_in_one_line(run_cli, flags: str, message: str) -> None:
    result = run_cli("export", "runs/demo", *flags.split())
    assert result.code == 2
    assert message in result.err and result.err.count("\n") == 1
