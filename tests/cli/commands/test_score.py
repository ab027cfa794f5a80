"""`score`: what training reads is scored, and a text that is too long is named with its file."""

from collections.abc import Sequence

import pytest

from keras_transformer.cli.commands import score
from keras_transformer.search.model_limits import PositionsError, TooLongError
from keras_transformer.search.options import Hypothesis


class Scorer:
    """Gives each target minus its number of characters; those of a line are at most 3."""

    def score(self, sources: Sequence[str], targets: Sequence[str]) -> list[Hypothesis]:
        for index, source in enumerate(sources):
            if len(source) > 3:
                raise TooLongError(index, len(source), 3)
        for index, target in enumerate(targets):
            if len(target) > 3:
                raise PositionsError(index, "target", len(target), 3)
        return [Hypothesis(target, [], 0.0, -float(len(target))) for target in targets]


@pytest.mark.parametrize(
    ("long", "message"),
    [
        ("target", "line 300 of {target} has 9 tokens with its end token, more than the model's 3"),
        ("source", "line 300 of {source} has 9 tokens, more than the 3 allowed: raise --max-"),
    ],
)
def test_a_line_that_is_too_long_is_named_with_its_file(
    run_cli, monkeypatch, tmp_path, long: str, message: str
) -> None:
    monkeypatch.setattr(score, "open_whole_text_translator", lambda *_: Scorer())
    files = {side: tmp_path / side for side in ("source", "target")}
    for side, file in files.items():
        lines = ["a" * 9 if side == long and number == 300 else "ab" for number in range(1, 311)]
        file.write_text("\n".join(lines), encoding="utf-8")
    flags = ("--source", files["source"], "--target", files["target"])
    result = run_cli("score", tmp_path, *flags)
    assert (result.code, result.out.splitlines()) == (1, ["-2.000000"] * 256)
    assert message.format(**files) in result.err


@pytest.mark.parametrize(
    ("name", "flags", "content"),
    [
        ("test.tsv", ["--data", "tsv"], "source\ttarget\na\tone\n\nb\tzu\n"),
        (
            "test.csv",
            ["--data", "tsv", "--source-column", 2, "--target-column", 0],
            '"one",x,"a"\n,,\n"zu",y,"b"\n',
        ),
        ("de.po", ["--data", "po"], 'msgid "a"\nmsgstr "one"\n\nmsgid "b"\nmsgstr "zu"\n'),
    ],
)
def test_what_training_reads_is_scored(
    run_cli, monkeypatch, tmp_path, name, flags, content: str
) -> None:
    monkeypatch.setattr(score, "open_whole_text_translator", lambda *_: Scorer())
    (tmp_path / name).write_text(content, encoding="utf-8")
    result = run_cli("score", tmp_path, "--source", tmp_path / name, *flags)
    # A blank line of a table is a pair without texts.
    blank = ["-0.000000"] if "tsv" in flags else []
    assert result.out.splitlines() == ["-3.000000", *blank, "-2.000000"]
    assert result.code == 0
    (tmp_path / name).write_text(content.replace("zu", "four"), encoding="utf-8")
    result = run_cli("score", tmp_path, "--source", tmp_path / name, *flags)
    number = 2 + len(blank)
    assert f"pair {number} of {tmp_path / name} has 4 tokens with its end token" in result.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "missing: --source, --target; see --help."),
        (["--data", "tmx"], "missing: --source; see --help."),
        (["--source", "a"], "missing: --target; see --help."),
        (
            ["--source", "a", "--target", "b", "--data", "po"],
            "--data po brings its own targets: leave --target out.",
        ),
        (["--jsonl", "--data", "tsv"], "leave out --source, --target and --data."),
    ],
)
def test_flags_that_do_not_go_together_are_refused(run_cli, flags, message: str) -> None:
    assert message in run_cli("score", "model", *flags).err
