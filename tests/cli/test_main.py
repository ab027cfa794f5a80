"""The command itself: help, unknown commands, errors in one line, exit codes."""

import subprocess
import sys
from pathlib import Path

import pytest
from fresh_process import python

from keras_transformer import cli


def failing(error: BaseException):
    """A subcommand module that raises."""

    class Module:
        @staticmethod
        def main(arguments: list[str]) -> int:
            raise error

    return lambda command: Module


def test_without_a_command_the_overview_goes_to_stderr(run_cli) -> None:
    result = run_cli()
    assert (result.code, result.out) == (2, "")
    assert all(command in result.err for command in cli.COMMANDS)


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_lists_every_command(run_cli, flag: str) -> None:
    result = run_cli(flag)
    assert (result.code, result.err) == (0, "")
    assert all(f"\n  {command}" in result.out for command in cli.COMMANDS)


def test_help_of_a_command_is_its_flag(run_cli) -> None:
    assert run_cli("help") == run_cli("--help")
    assert run_cli("help", "embed") == run_cli("embed", "--help")
    assert run_cli("help", "trian").code == 2


def test_version(run_cli) -> None:
    assert run_cli("--version").out == f"keras-transformer {cli.__version__}\n"


def test_an_unknown_command_is_named_with_its_neighbour(run_cli) -> None:
    result = run_cli("trian")
    assert result.code == 2
    assert result.err.count("\n") == 1
    assert "unknown command 'trian'" in result.err and "did you mean 'train'" in result.err


# The options of `plot` stand after its kinds of pictures; the others have no default.
@pytest.mark.parametrize(
    "command", sorted(set(cli.COMMANDS) - {"plot", "import", "update-vocabulary"})
)
def test_each_command_explains_its_flags_with_defaults(run_cli, command: str) -> None:
    result = run_cli(command, "--help")
    assert (result.code, result.err) == (0, "")
    assert "(default: " in result.out and "--config" in result.out


@pytest.mark.parametrize("command", ["export", "translate", "evaluate"])
def test_a_missing_argument_is_one_line(run_cli, command: str) -> None:
    result = run_cli(command)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"keras-transformer {command}: error: missing: ")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_a_file_in_place_of_standard_input_is_told_what_to_do(run_cli, command: str) -> None:
    flags = {"embed": ["--output", "v.npy"], "evaluate": ["--source", "a", "--reference", "b"]}
    result = run_cli(command, "model", "a.csv", *flags.get(command, []))
    reads_lines = f"{command} reads texts from standard input, as with `< a.csv`" in result.err
    assert reads_lines == (command == "rerank" or "of standard input" in cli.COMMANDS[command])
    assert ("--test-tsv a.csv" in result.err) == (command == "classify")
    assert ("--test-text a.csv" in result.err) == (command == "tag")


def test_a_text_in_place_of_standard_input_is_told_what_to_do(
    run_cli, tmp_path, monkeypatch
) -> None:
    for given, said in (("A man", "'A man'"), ("hi", "hi "), ("yes " * 99, "'yes yes")):
        found = run_cli("generate", "model", given).err
        assert f"as with `echo {said}" in found and "| keras-transformer generate …`" in found
    monkeypatch.chdir(tmp_path)
    Path("my texts").touch()
    assert "as with `< 'my texts'`" in run_cli("generate", "model", "my texts").err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ValueError("beam_size must be at least 1,\n got 0."), 1, "beam_size must be at least 1,"),
        (FileNotFoundError("no directory x"), 1, "error: no directory x"),
        (RuntimeError("graph broke\nlong trace"), 1, "RuntimeError: graph broke (--debug"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_errors_are_one_line(run_cli, monkeypatch, error, code: int, text: str) -> None:
    monkeypatch.setattr(cli, "_load", failing(error))
    result = run_cli("translate", "x")
    assert (result.code, result.out) == (code, "")
    assert text in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_debug_shows_the_traceback(run_cli, monkeypatch, how: str) -> None:
    monkeypatch.setattr(cli, "_load", failing(ValueError("wrong")))
    if how == "variable":
        monkeypatch.setenv("KERAS_TRANSFORMER_DEBUG", "1")
    with pytest.raises(ValueError, match="wrong"):
        run_cli("translate", "x", *(["--debug"] if how == "flag" else []))


def test_a_reader_that_leaves_is_no_error() -> None:
    program = (
        "import sys; from keras_transformer import cli\n"
        "class Endless:\n"
        "    @staticmethod\n"
        "    def main(arguments):\n"
        "        while True: print('line')\n"
        "cli._load = lambda command: Endless\n"
        "sys.exit(cli.main(['translate']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with process:
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


@pytest.mark.parametrize("closed", ["1", "1 2"])
def test_closed_output_is_refused_before_any_work(tmp_path, closed: str) -> None:
    redirections = " ".join(f"{descriptor}>&-" for descriptor in closed.split())
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m keras_transformer translate {tmp_path} {redirections}']
        + [sys.executable],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    told = "keras-transformer translate: error: standard output is closed"
    assert done.stderr.startswith(told) if closed == "1" else done.stderr == ""


def test_without_jsonargparse_the_extra_is_named(tmp_path) -> None:
    blocked = tmp_path / "jsonargparse.py"
    blocked.write_text("raise ModuleNotFoundError('blocked', name='jsonargparse')\n")
    command = ["-m", "keras_transformer", "translate", "exported"]
    done = python(*command, fails=True, PYTHONPATH=str(tmp_path))
    assert done.returncode == 1
    assert 'pip install "keras-seq2seq-transformer[cli]"' in done.stderr
    assert done.stderr.count("\n") == 1
