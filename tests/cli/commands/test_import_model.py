"""`keras-transformer import`: a run that the other commands take; errors are one line."""

from pathlib import Path

import pytest

from keras_transformer.cli import main

FOLDER = Path(__file__).parents[2] / "fixtures" / "translators"


def test_a_run_is_written_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "run"
    assert main(["import", str(FOLDER / "nllb"), "--output", str(output)]) == 0
    assert capsys.readouterr().out == f"wrote {output}\n"
    names = {path.name for path in output.iterdir()}
    assert {"config.json", "model.keras", "tokenizer.model", "training.json"} <= names
    assert main(["import", str(FOLDER / "t5"), "--output", str(output)]) == 1
    assert "is not empty" in capsys.readouterr().err
    assert main(["import", str(FOLDER / "t5"), "--output", str(output), "--overwrite"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "missing is not a directory"),
        ([str(FOLDER)], "translators holds no config.json"),
        ([str(FOLDER / "nllb"), "--target-language", "xx"], "target_language must be one of"),
    ],
)
def test_what_cannot_be_read_is_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "run"
    assert main(["import", *arguments, "--output", str(output)]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 1
    assert not output.exists()
