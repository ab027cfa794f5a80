"""`export`: a run directory reaches the exporter, and what cannot work is told at once."""

import types

import pytest


@pytest.fixture
def exporter(monkeypatch) -> list[tuple]:
    """What reaches `export_onnx`, which is not run, from a run that is not read."""
    made: list[tuple] = []

    def export_onnx(model, tokenizer, directory, **settings):
        made.append((model, tokenizer, directory, settings))
        return directory

    monkeypatch.setitem(
        __import__("sys").modules,
        "keras_transformer.export",
        types.SimpleNamespace(export_onnx=export_onnx),
    )
    return made


@pytest.mark.parametrize("shared", [True, False])
def test_run_and_settings_reach_the_exporter(
    run_cli, exporter, monkeypatch, tmp_path, shared: bool
) -> None:
    target = "source" if shared else "target"
    monkeypatch.setattr(
        "keras_transformer.cli.export.load_run", lambda directory: ("model", "source", target)
    )
    output = tmp_path / "exported"
    flags = ["--format", "onnx", "--output", output, "--opset", 19, "--quantize", "int8"]
    result = run_cli("export", "runs/demo", *flags)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"exported runs/demo to {output}\n"
    settings = {
        "target_tokenizer": None if shared else "target",
        "target": "onnxruntime",
        "quantize": "int8",
        "opset": 19,
        "overwrite": False,
    }
    assert exporter == [("model", "source", output, settings)]


def test_an_existing_output_is_kept_unless_asked(run_cli, exporter, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr("keras_transformer.cli.export.load_run", lambda directory: ("m", "s", "s"))
    result = run_cli("export", "runs/demo", "--output", tmp_path)
    assert (result.code, exporter) == (1, [])
    assert f"{tmp_path} exists: choose another --output or --overwrite." in result.err
    assert run_cli("export", "runs/demo", "--output", tmp_path, "--overwrite").code == 0
    assert exporter[0][3]["overwrite"] is True


def test_an_unfinished_run_is_told(run_cli, tmp_path) -> None:
    (tmp_path / "config.json").write_text('{"source_vocab_size": 20}')
    result = run_cli("export", tmp_path, "--output", tmp_path / "exported")
    assert result.code == 1
    assert "model.keras is missing" in result.err and "--resume" in result.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--output x --format saved_model", "--format expects one of onnx, got 'saved_model'."),
        ("--output x --opset high", "--opset expects an integer, got 'high'."),
        ("", "missing: --output; see --help."),
    ],
)
def test_wrong_flags_are_told_in_one_line(run_cli, flags: str, message: str) -> None:
    result = run_cli("export", "runs/demo", *flags.split())
    assert result.code == 2
    assert message in result.err and result.err.count("\n") == 1
