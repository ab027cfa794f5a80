"""Dataclass fields become flags and YAML keys, with help, defaults and one-line errors."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from keras_transformer.cli.parser import (
    CommandParser,
    UsageError,
    flags_in_errors,
    read_fields,
)


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a made-up command.

    Args:
        output_path: Where it goes,
            50% of the time.
        beam_size: How many.
        rate: How fast.
        kind: Which.
        shards: What to read.
        pair: Two of them.
        bans: Which not.
        resume: Go on.
        joint: Share it.
        seed: Where chance begins.
    """

    output_path: Path
    beam_size: int = 4
    rate: float | None = None
    kind: Literal["small", "big"] = "small"
    shards: list[Path] = field(default_factory=list)
    pair: tuple[int, ...] = (1, 2)
    bans: tuple[tuple[int, ...], ...] = ()
    resume: bool = False
    joint: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        if self.beam_size < 1:
            raise ValueError(f"beam_size must be at least 1, got {self.beam_size}.")


@pytest.fixture
def parser() -> CommandParser:
    parser = CommandParser("invent", "Invents.")
    parser.add_positional("model", "A model.")
    parser.add_fields(Options)
    parser.add_fields(
        Options, prefix="model_options.", skip=("output_path",), defaults={"beam_size": None}
    )
    return parser


def parse(parser: CommandParser, *arguments: str) -> Options:
    return read_fields(parser.parse(["m", "--output-path", "out", *arguments]), Options)


def test_defaults_are_the_dataclass_defaults(parser) -> None:
    assert parse(parser) == Options(output_path=Path("out"))


def test_flags_reach_fields_of_every_type(parser) -> None:
    words = "--beam-size 2 --rate 0.5 --kind big --shards a b --pair 3 4 --resume --no-joint"
    assert parse(parser, *words.split(), "--seed", "7") == Options(
        output_path=Path("out"),
        beam_size=2,
        rate=0.5,
        kind="big",
        shards=[Path("a"), Path("b")],
        pair=(3, 4),
        resume=True,
        joint=False,
        seed=7,
    )


def test_prefixed_fields_are_apart_from_the_others(parser) -> None:
    given = parser.parse(["m", "--output-path", "out", "--model_options.rate", "2"])
    assert (given["rate"], given["model_options"]["rate"]) == (None, 2.0)
    assert (given["beam_size"], given["model_options"]["beam_size"]) == (4, None)


def test_flags_win_over_the_file_which_wins_over_defaults(parser, tmp_path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text("beam_size: 2\nrate: 3\nresume: true\nshards: [a]\njoint: false\n")
    options = parse(parser, "--config", str(file), "--beam-size", "8")
    assert options == Options(
        output_path=Path("out"),
        beam_size=8,
        rate=3.0,
        resume=True,
        shards=[Path("a")],
        joint=False,
    )


def test_the_printed_config_can_be_read_back(parser, tmp_path, capsys) -> None:
    with pytest.raises(SystemExit):
        parse(parser, "--kind", "big", "--shards", "a", "--print-config")
    file = tmp_path / "options.yaml"
    file.write_text(capsys.readouterr().out)
    options = read_fields(parser.parse(["--config", str(file)]), Options)
    assert options == Options(output_path=Path("out"), kind="big", shards=[Path("a")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: big\nbeam_size: 2\nkind: small\n", "gives kind twice, in lines 1 and 3"),
        ("kind: big\nshards: [{a: 1, a: 2}]\n", "gives a twice, in lines 2 and 2"),
    ],
)
def test_a_key_that_is_given_twice_is_refused(parser, tmp_path, text, message) -> None:
    file = tmp_path / "options.yaml"
    file.write_text(text)
    for flags in (["--config", str(file)], [f"--config={file}"]):
        with pytest.raises(UsageError, match=message):
            parser.parse(flags)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--beam-size", "two"], "--beam-size expects an integer, got 'two'."),
        (["--rate", "fast"], "--rate expects a number, got 'fast'."),
        (["--kind", "middle"], "--kind expects one of small, big, got 'middle'."),
        (["--pair", "1", "x"], "--pair expects one or more values (an integer), got 'x'."),
        (["--kind", "smal"], "--kind expects one of small, big, got 'smal'; did you mean 'small'?"),
        (["--beam", "2"], "unrecognized arguments: --beam 2; did you mean '--beam-size'?"),
        (["--beam_size=2"], "unrecognized arguments: --beam_size=2; did you mean '--beam-size'?"),
        (["--xyz"], "unrecognized arguments: --xyz; see --help."),
        (["extra"], "unrecognized arguments: extra"),
        (["--config", "none.yaml"], "--config none.yaml: File does not exist: "),
        (["--bans", "7"], "--bans expects one or more lists without spaces, each [INT,...], such"),
    ],
)
def test_a_wrong_flag_is_named(parser, arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(parser, *arguments)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("beam_size: two\n", "beam_size in {file} expects an integer, got 'two'."),
        ("beamsize: 2\n", "unknown key 'beamsize' in {file}; did you mean 'beam_size'?"),
        ("xyz: 2\n", "unknown key 'xyz' in {file}; see --help."),
        (
            "kind: bigg\n",
            "kind in {file} expects one of small, big, got 'bigg'; did you mean 'big'?",
        ),
        ("beam_size: [\n", "--config {file}: Problems parsing config: "),
    ],
)
def test_a_wrong_file_is_named_in_one_line(parser, tmp_path, text: str, message: str) -> None:
    file = tmp_path / "options.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        parse(parser, "--config", str(file))
    assert str(error.value).startswith(message.format(file=file))
    assert "\n" not in str(error.value)


def test_missing_arguments_are_told_as_typed(parser) -> None:
    with pytest.raises(UsageError, match="^missing: model, --output-path; see --help.$"):
        parser.parse([])


def test_the_dataclass_checks_its_values(parser) -> None:
    with pytest.raises(ValueError, match="^--beam-size must be at least 1, got 0"):
        parse(parser, "--beam-size", "0")


def test_a_flag_is_blamed_although_there_is_a_file(parser, tmp_path) -> None:
    file = tmp_path / "options.yaml"
    file.write_text("seed: 2\n")
    with pytest.raises(UsageError, match="^--beam-size expects an integer, got 'two'"):
        parse(parser, f"--config={file}", "--beam-size=two")


def test_help_gives_descriptions_and_defaults(parser, capsys) -> None:
    with pytest.raises(SystemExit):
        parser.parse(["--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert "usage: keras-transformer invent model [options]" in text
    assert "--output-path PATH Where it goes, 50% of the time. (required)" in text
    assert "--beam-size INT How many. (default: 4)" in text
    assert "--bans [INT,...] [[INT,...] ...] Which not." in text
    assert "--seed INT Where chance begins. (default: 0)" in text
    assert "--kind {small,big} Which. (default: small)" in text
    assert "--resume Go on. --joint" in text


@pytest.mark.parametrize("flag", ["-h", "--help", "--help-all"])
def test_a_short_help_shows_some_flags_and_the_long_one_all(parser, capsys, flag: str) -> None:
    parser.shorten_help({"--output-path": "Where.", "--beam-size": "Beams."})
    assert "--help-all" in parser.flags
    with pytest.raises(SystemExit):
        parser.parse([flag])
    text = " ".join(capsys.readouterr().out.split())
    assert "model A model." in text and "--config YAML" in text
    if flag == "--help-all":
        assert "--output-path PATH Where it goes, 50% of the time. (required)" in text
        assert "--rate" in text and "--model-options.beam-size" in text
        return
    assert "--output-path PATH Where. (required)" in text
    assert "--beam-size INT Beams. (default: 4)" in text
    assert "--help-all shows all" in text and "--rate" not in text and "--model-options" not in text


def test_where_the_help_is_short_errors_name_the_long_one(parser) -> None:
    parser.shorten_help({"--beam-size": "Beams."})
    with pytest.raises(UsageError, match="see --help-all[.]$"):
        parse(parser, "--xyz")


class OwnError(ValueError):
    def __init__(self, index: int, name: str) -> None:
        self.index = index
        super().__init__(f"row {index}: {name} is too small")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits.

    Args:
        most_rows: Rows.
    """

    most_rows: int = 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (UsageError("most_rows is too small"), UsageError),
        (TypeError("most_rows is too small"), TypeError),
        (OwnError(3, "most_rows"), ValueError),
    ],
)
def test_an_error_of_python_code_names_flags_whatever_its_class_takes(
    error: Exception, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match="--most-rows is too small") as raised, flags_in_errors(Limits):
        raise error
    assert type(raised.value) is kind and raised.value.__cause__ is error
