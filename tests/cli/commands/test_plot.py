"""`keras-transformer plot`: each kind of picture from the command line, and its errors."""

import json
from pathlib import Path

import matplotlib.image
import pytest
from few_updates import without_graphs
from fresh_process import python

from keras_transformer.cli.commands.plot import KINDS, build_parser

PARTS = {"curves": ["runs/a"], "attention": ["runs/a", "--source", "x"], "vectors": ["v.txt"]}
PARTS["alignment"] = PARTS["attention"]
PARTS["tags"] = ["runs/a", "--text", "x"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few updates, with records, tokenizers and a model."""
    from keras_transformer.data.sources.corpus import Corpus, Pairs
    from keras_transformer.training.run.options import TrainOptions
    from keras_transformer.training.run.train import train

    pairs = Pairs(["ab ba", "ba cab", "cab ab"] * 2, ["ba ab", "cab ba", "ab cab"] * 2, "words")
    directory = tmp_path_factory.mktemp("run")
    sizes = {"model_dim": 8, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    options = TrainOptions(max_steps=2, checkpoint_steps=1, batch_tokens=48)
    with without_graphs():
        train(Corpus(pairs), directory, vocab_size=11, overrides=sizes, options=options)
    return directory


def is_png(path: Path) -> bool:
    return matplotlib.image.imread(path).ndim == 3


@pytest.mark.parametrize("arguments", [["--help"], ["-h"]])
def test_help_lists_every_kind_of_picture(run_cli, arguments: list[str]) -> None:
    result = run_cli("plot", *arguments)
    assert (result.code, result.err) == (0, "")
    assert all(f"\n  {kind}" in result.out for kind in KINDS)


def test_without_a_kind_the_overview_goes_to_stderr(run_cli) -> None:
    result = run_cli("plot")
    assert (result.code, result.out) == (2, "")
    assert "usage: keras-transformer plot PICTURE" in result.err


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_each_kind_explains_its_options(run_cli, kind: str) -> None:
    result = run_cli("plot", kind, "--help")
    assert (result.code, result.err) == (0, "")
    assert "--output PATH" in result.out and "--config" in result.out


def test_an_unknown_kind_is_named_with_its_neighbour(run_cli) -> None:
    result = run_cli("plot", "mask", "--output", "a.png")
    assert result.code == 2 and result.err.count("\n") == 1
    assert "unknown picture 'mask'" in result.err and "did you mean 'masks'?" in result.err


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_missing_output_is_one_line(run_cli, kind: str) -> None:
    result = run_cli("plot", kind, *PARTS.get(kind, []))
    assert result.code == 2 and result.err.count("\n") == 1
    assert "missing: --output" in result.err


def test_another_format_is_refused_before_any_work(run_cli, tmp_path: Path) -> None:
    result = run_cli("plot", "curves", "no run", "--output", tmp_path / "a.jpg")
    assert result.code == 1 and result.err.count("\n") == 1
    assert "must end in .png or .svg" in result.err


def test_several_runs_are_read(run: Path) -> None:
    given = build_parser().parse(["curves", str(run), "other", "--output", "a.png"])
    assert given.run == [run, Path("other")]


def test_curves_of_two_runs(run_cli, run: Path, tmp_path: Path) -> None:
    output = tmp_path / "curves.png"
    result = run_cli("plot", "curves", run, run, "--output", output)
    assert (result.code, result.out) == (0, f"picture: {output}\n")
    assert is_png(output)


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        *((kind, "ba") for kind in ("attention", "alignment")),
        *(
            pytest.param(kind, "", marks=pytest.mark.exhaustive)
            for kind in ("attention", "alignment")
        ),
    ],
)
def test_attention_of_a_sentence_pair(
    run_cli, run: Path, tmp_path: Path, kind: str, target: str
) -> None:
    """With a given target, or without one: the model translates."""
    output, given = tmp_path / "attention.png", ["--target", target] if target else []
    result = run_cli("plot", kind, run, "--source", "ab cab", *given, "--output", output)
    assert (result.code, is_png(output)) == (0, True)


@pytest.fixture(scope="module")
def alone(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder alone with the vocabulary of the run."""
    from keras_transformer.config.decoder_only import DecoderConfig
    from keras_transformer.models.decoder_only import build_decoder
    from keras_transformer.runs.run_directory import RunDirectory

    tokenizer, _ = RunDirectory(run).load_tokenizers()
    sizes = {"model_dim": 8, "num_heads": 2, "num_layers": 1, "feed_forward_dim": 8}
    directory = tmp_path_factory.mktemp("alone") / "preset"
    model = build_decoder(DecoderConfig(vocab_size=tokenizer.vocab_size, **sizes))
    model.save_to_preset(directory, tokenizer)
    return directory


@pytest.mark.parametrize("more", [[], ["--tokens", "<s>", "2", "--layer", 1]])
def test_attention_of_a_decoder_alone(run_cli, alone: Path, tmp_path: Path, more: list) -> None:
    output = tmp_path / "attention.png"
    result = run_cli("plot", "attention", alone, "--text", "ab cab", *more, "--output", output)
    assert (result.code, is_png(output)) == (0, True)


@pytest.mark.parametrize(
    ("is_alone", "flags", "message"),
    [
        (True, ["--source", "ab"], "holds no translation: give --text in place of --source"),
        (False, ["--text", "ab"], "--text is for an encoder or a decoder alone"),
        (False, [], "--source is needed: the sentence that the model translates"),
        (True, ["--text", "ab", "--tokens", "ab"], "--tokens must be two, got 1"),
        (True, ["--text", "ab", "--layer", 1], "--layer is that of --tokens: give both"),
    ],
)
def test_what_a_family_does_not_read_is_refused(
    run_cli, run: Path, alone: Path, tmp_path: Path, is_alone: bool, flags: list, message: str
) -> None:
    directory = alone if is_alone else run
    result = run_cli("plot", "attention", directory, *flags, "--output", tmp_path / "a.png")
    assert result.code != 0 and message in result.err


@pytest.mark.exhaustive
def test_tags_of_a_text(run_cli, run: Path, tmp_path: Path) -> None:
    from keras_transformer.config.encoder_only import EncoderConfig
    from keras_transformer.models.encoder_only import build_encoder
    from keras_transformer.runs.run_directory import RunDirectory

    tokenizer, _ = RunDirectory(run).load_tokenizers()
    sizes = {"model_dim": 8, "num_heads": 2, "num_layers": 1, "feed_forward_dim": 8}
    head = {"head": "tagging", "labels": ("B-X", "I-X", "O"), "crf": True}
    model = build_encoder(EncoderConfig(vocab_size=tokenizer.vocab_size, **sizes, **head))
    model.save_to_preset(tmp_path / "tagger", tokenizer)
    output = tmp_path / "tags.png"
    result = run_cli("plot", "tags", tmp_path / "tagger", "--text", "ab cab", "--output", output)
    assert (result.code, is_png(output)) == (0, True)


def test_a_text_without_words_has_no_tags(run_cli) -> None:
    result = run_cli("plot", "tags", "no", "--text", " ", "--output", "a.png")
    assert result.code == 1 and "--text must hold at least one word, got ' '." in result.err


@pytest.mark.parametrize("kind", ["masks", "positions"])
def test_pictures_that_need_no_run(run_cli, tmp_path: Path, kind: str) -> None:
    assert run_cli("plot", kind, "--output", tmp_path / "a.svg").code == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")


@pytest.mark.parametrize("own", [pytest.param(True, marks=pytest.mark.exhaustive), False])
def test_a_corpus_with_the_vocabulary_of_a_run_or_its_own(
    run_cli, run: Path, tmp_path: Path, own: bool
) -> None:
    source, target, output = tmp_path / "s", tmp_path / "t", tmp_path / "corpus.png"
    source.write_text("ab ba\nba cab\ncab ab\n")
    target.write_text("ba ab\ncab ba\nab cab\n")
    files = ["--data", "files", "--train-source", source, "--train-target", target]
    vocabulary = ["--vocab-size", 11] if own else ["--run", run]
    result = run_cli("plot", "corpus", *files, *vocabulary, "--output", output)
    assert (result.code, is_png(output)) == (0, True)


@pytest.mark.parametrize(
    "flags",
    [["--demo-size", 1000, "--vocab-size", 300], pytest.param([], marks=pytest.mark.exhaustive)],
)
def test_the_demo_corpus_without_files(run_cli, tmp_path: Path, flags: list) -> None:
    output = tmp_path / "corpus.png"
    result = run_cli("plot", "corpus", *flags, "--output", output)
    assert (result.code, is_png(output)) == (0, True)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--run", "r", "--vocab-size", 11], "--vocab-size is for training a vocabulary"),
        (["--valid-source", "a", "--valid-target", "b"], "--valid-source has no effect"),
    ],
)
def test_what_would_not_be_read_is_refused(
    run_cli, tmp_path: Path, flags: list, message: str
) -> None:
    files = ["--data", "files", "--train-source", "s", "--train-target", "t"]
    result = run_cli("plot", "corpus", *files, *flags, "--output", tmp_path / "a.png")
    assert result.code == 1 and message in result.err


def test_prepared_shards_are_refused(run_cli, tmp_path: Path) -> None:
    data = ["--data", "prepared", "--prepared", tmp_path]
    result = run_cli("plot", "corpus", *data, "--output", tmp_path / "a.png")
    assert result.code == 1 and "a prepared corpus holds ids instead of text" in result.err


def test_a_directory_that_is_no_run_is_named(run_cli, tmp_path: Path) -> None:
    (tmp_path / "training.json").write_text(json.dumps({"history": {}}))
    output = tmp_path / "a.png"
    result = run_cli("plot", "curves", tmp_path, "--output", output)
    assert result.code == 1 and "has no finished round yet" in result.err
    assert not output.exists()


def test_a_run_of_another_family_has_no_alignment(run_cli, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"family": "decoder"}')
    output = tmp_path / "a.png"
    result = run_cli("plot", "alignment", tmp_path, "--source", "A man", "--output", output)
    assert "a decoder model, and this command needs an encoder-decoder model" in result.err


def test_curves_need_no_tensorflow(run: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from keras_transformer.cli import main\n"
        "code = main(['plot', 'curves', *sys.argv[1:]])\n"
        "print(code, 'tensorflow' in sys.modules)"
    )
    given = [str(run), "--output", str(tmp_path / "a.png")]
    done = python("-c", program, *given, PYTHONPATH="")  # It would hide Matplotlib.
    assert done.stdout.splitlines()[-1] == "0 False"
