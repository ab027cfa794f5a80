"""`update-vocabulary`: words of a file reach the run; errors are one line."""

from pathlib import Path

import pytest

from keras_transformer.cli import main
from keras_transformer.runs.run_directory import RunDirectory

MODEL = Path(__file__).parents[2] / "fixtures" / "translators" / "t5"


def test_the_words_of_a_file_are_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("words.txt").write_text("Kubernetes\nxylophone\nthe\n", encoding="utf-8")
    assert main(["import", str(MODEL), "--output", "run"]) == 0
    assert main(["update-vocabulary", "run", "--words", "words.txt", "--output", "more"]) == 0
    assert "words added: 2; tokens already: 1\nwrote more\n" in capsys.readouterr().out
    before, after = (RunDirectory(Path(name)).load_config().to_dict() for name in ("run", "more"))
    assert after["source_vocab_size"] == before["source_vocab_size"] + 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--output more", "update-vocabulary needs --words, --target-words or both."),
        ("--output more --words nothing.txt", "no such file: nothing.txt"),
    ],
)
def test_wrong_flags_are_told(run_cli, finished_run, flags: str, message: str) -> None:
    result = run_cli("update-vocabulary", finished_run, *flags.split())
    assert result.code == 1 and message in result.err
    assert result.err.count("\n") == 1
