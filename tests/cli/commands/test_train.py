"""`train`: flags become a corpus, a model's fields and training options."""

import dataclasses
import types
from dataclasses import replace
from pathlib import Path

import pytest
from fresh_process import python

from keras_transformer.cli import keras_side
from keras_transformer.cli.commands import train
from keras_transformer.cli.corpora import DataOptions, read_corpus
from keras_transformer.cli.flags.training import DEMO_TRAINING
from keras_transformer.config import TransformerConfig
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.loop.interrupts import Terminated
from keras_transformer.training.recipes import RECIPES, fine_tuning
from keras_transformer.training.run.options import TrainOptions


@pytest.fixture
def calls(monkeypatch) -> list[dict]:
    """What reaches the training function, which is not run."""
    made: list[dict] = []

    def fake_train(corpus, directory, **settings):
        made.append({"corpus": corpus, "directory": directory, **settings})
        return types.SimpleNamespace(model=types.SimpleNamespace(count_params=lambda: 1234))

    training = types.SimpleNamespace(train=fake_train)
    monkeypatch.setattr(train, "load_training", lambda: training)
    return made


@pytest.fixture
def files(tmp_path):
    for name, lines in {
        "a.en": "one\ntwo\n",
        "a.es": "uno\ndos\n",
        "b.en": "three\n",
        "b.es": "tres\n",
    }.items():
        (tmp_path / name).write_text(lines, encoding="utf-8")
    return tmp_path


def test_files_and_defaults(run_cli, calls, files) -> None:
    result = run_cli(
        *("train", "--data", "files", "--output", files / "run"),
        *("--train-source", files / "a.en", files / "b.en"),
        *("--train-target", files / "a.es", files / "b.es"),
        *("--valid-source", files / "b.en", "--valid-target", files / "b.es"),
    )
    assert (result.code, result.err) == (0, "")
    assert "model.keras (1,234 parameters)" in result.out
    (call,) = calls
    assert list(call["corpus"].train.source) == ["one", "two", "three"]
    assert list(call["corpus"].train.target) == ["uno", "dos", "tres"]
    assert list(call["corpus"].valid.source) == ["three"]
    assert call["options"] == TrainOptions.preset("tiny")
    assert call["recipe"] == RECIPES["tiny"]
    del call["corpus"], call["options"], call["recipe"]
    assert call == {
        "directory": files / "run",
        "preset": None,
        "overrides": {},
        "vocab_size": None,
        "task": "translation",
        "tokenizer_type": "unigram",
        "joint_vocabulary": True,
        "tokenizers": None,
        "init": None,
        "init_decoder": None,
        "init_vectors": None,
        "init_target_vectors": None,
        "resume": False,
        "dry_run": False,
    }


def test_every_flag_reaches_the_run(run_cli, calls, files) -> None:
    words = (
        "--epochs 3 --max-steps 7 --batch-tokens 512 --learning-rate 0.001 --warmup-steps 9 "
        "--label-smoothing 0 --clip-norm 1 --seed 5 --dtype-policy mixed_bfloat16 "
        "--patience 4 --final-model best --average-checkpoints 3 --deterministic "
        "--preset base --vocab-size 99 --tokenizer-type bpe --no-joint-vocabulary --resume "
        "--model.dropout 0.2 --model.norm pre --model.num-heads 2"
    ).split()
    given = ["--train-source", files / "a.en", "--train-target", files / "a.es"]
    given += ["--valid-source", files / "b.en", "--valid-target", files / "b.es"]
    result = run_cli("train", "--data", "files", "--output", "r", *given, *words)
    assert (result.code, result.err) == (0, "")
    (call,) = calls
    assert call["options"] == TrainOptions.preset(
        "base",
        epochs=3,
        max_steps=7,
        batch_tokens=512,
        learning_rate=0.001,
        warmup_steps=9,
        label_smoothing=0.0,
        clip_norm=1.0,
        seed=5,
        dtype_policy="mixed_bfloat16",
        patience=4,
        final_model="best",
        average_checkpoints=3,
        deterministic=True,
    )
    assert call["overrides"] == {"dropout": 0.2, "norm": "pre", "num_heads": 2}
    assert (call["preset"], call["vocab_size"], call["tokenizer_type"]) == ("base", 99, "bpe")
    assert (call["joint_vocabulary"], call["resume"]) == (False, True)
    assert list(call["corpus"].valid.source) == ["three"]


@pytest.mark.parametrize("preset", ["tiny", "small", "base", "big"])
def test_what_is_not_given_is_the_presets_recipe(run_cli, calls, files, preset: str) -> None:
    given = ["--train-source", files / "a.en", "--train-target", files / "a.es"]
    run_cli("train", "--data", "files", "--output", "r", *given, "--preset", preset)
    assert calls[0]["options"] == TrainOptions.preset(preset)


def test_help_names_the_default_of_every_preset(run_cli) -> None:
    text = " ".join(run_cli("train", "--help-all").out.split()).replace("- ", "-")
    assert "Passes over the training pairs. If not given: the recipe's" in text
    assert (
        "(default: 22 for tiny; 36 for small; 30 for base, big, student, bert-tiny, xlnet-tiny; "
        "64 for student-tiny; "
        "40 for bert-base, bert-large, gpt2, gpt2-medium; "
        "10 for gpt2-tiny, llama-tiny, lstm-tiny, transformer-xl-tiny, classify, tag, embed, "
        "a translation's --init; "
        "8 for the demo; 20 for denoising; 4 for classify, tag, embed with --init)"
    ) in text
    assert (
        "llama-tiny, lstm-tiny, transformer-xl-tiny, the demo, a translation's --init; 20" in text
    )
    assert "10 for student-tiny, denoising with tiny, denoising with small;" in text
    assert "(default: as the corpus suits, at most 1024 for tiny, small, student-tiny," in text


def test_the_demo_has_its_own_defaults(run_cli, calls) -> None:
    result = run_cli(
        "train", "--data", "demo", "--preset", "tiny", "--output", "r", "--demo-size", 2000
    )
    assert (result.code, result.err) == (0, "")
    (call,) = calls
    assert (call["vocab_size"], call["overrides"]) == (2000, {"dropout": 0.1})
    assert call["recipe"] == replace(RECIPES["tiny"], **DEMO_TRAINING)
    assert call["options"] == TrainOptions().filled(call["recipe"].settings())
    assert call["corpus"].test is not None


def test_flags_win_over_the_demo_defaults(run_cli, calls) -> None:
    flags = ["--demo-size", 2000, "--epochs", 2, "--vocab-size", 300, "--model.dropout", 0.5]
    run_cli("train", "--data", "demo", "--output", "r", *flags)
    (call,) = calls
    assert (call["options"].epochs, call["vocab_size"]) == (2, 300)
    assert call["overrides"] == {"dropout": 0.5}


def test_a_yaml_file_gives_all_of_it(run_cli, calls, files) -> None:
    config = files / "run.yaml"
    config.write_text(
        f"data: files\ntrain_source: [{files / 'a.en'}]\ntrain_target: [{files / 'a.es'}]\n"
        "output: run\nepochs: 4\nmodel:\n  dropout: 0.25\n  feed_forward_dim: 64\n"
    )
    assert run_cli("train", "--config", config, "--model.dropout", "0.5").err == ""
    (call,) = calls
    assert call["overrides"] == {"dropout": 0.5, "feed_forward_dim": 64}
    assert (call["options"].epochs, call["directory"]) == (4, Path("run"))


def test_tsv(run_cli, calls, tmp_path) -> None:
    table = tmp_path / "pairs.tsv"
    table.write_text("1\tuno\tone\n2\tdos\ttwo\n", encoding="utf-8")
    columns = ["--source-column", 2, "--target-column", 1]
    run_cli("train", "--data", "tsv", "--output", "r", "--train-tsv", table, *columns)
    assert list(calls[0]["corpus"].train.source) == ["one", "two"]
    assert list(calls[0]["corpus"].train.target) == ["uno", "dos"]


def test_tfds_passes_name_directory_and_download(monkeypatch, tmp_path) -> None:
    seen = {}

    def load_tfds(name, **settings):
        seen.update(settings, name=name)
        return "corpus"

    monkeypatch.setattr("keras_transformer.data.sources.tfds.load_tfds", load_tfds)
    options = DataOptions(data="tfds", tfds_name="ted_hrlr_translate/pt_to_en", tfds_dir=tmp_path)
    assert read_corpus(options) == "corpus"
    assert seen == {
        "name": "ted_hrlr_translate/pt_to_en",
        "data_dir": tmp_path,
        "download": False,
    }


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--data files", "--data files needs --train-source."),
        ("--data files --train-source a", "--data files needs --train-target."),
        ("--data tsv", "--data tsv needs --train-tsv."),
        ("--data tfds", "--data tfds needs --tfds-name."),
        ("--data demo --train-source a", "--train-source belongs to --data files"),
        ("--data files --tfds-name a --train-source a --train-target b", "belongs to --data tfds"),
        (
            "--data files --train-source a --train-target b --valid-source c",
            "--valid-source and --valid-target go together",
        ),
        (
            "--data files --train-source a --train-target b --general-source c",
            "--general-source and --general-target go together",
        ),
        (
            "--data demo --general-source a --general-target b",
            "--general-source needs --data files or tsv, but --data is demo.",
        ),
        ("--data demo --general-share 1", "--general-share is a share in (0, 1), got 1.0."),
        (
            "--data tsv --train-tsv a --general-share 0.2",
            "--general-share belongs to --general-source and --general-target, which are not",
        ),
        (
            "--data files --train-source a --train-target b --demo-size 100",
            "--demo-size belongs to --data demo, but --data is files.",
        ),
        (
            "--data files --train-source a --train-target b --source-column 2",
            "--source-column belongs to --data tsv, but --data is files.",
        ),
        ("--target-column 0", "--target-column belongs to --data tsv, but --data is demo."),
        ("--data demo --epochs 0", "epochs must be at least 1, got 0."),
        (
            "--data demo --model.norm mid",
            "--model.norm expects one of post, pre, both, output, got",
        ),
        ("--data demo --preset huge", "--preset expects one of tiny, small, base, big"),
        ("--init a --vocab-size 99", "--vocab-size sets a vocabulary, but the run starts"),
        ("--init a --tokenizer b", "--tokenizer sets a vocabulary, but the run starts"),
        ("--tokenizer a --vocab-size 99", "--vocab-size is for training a vocabulary, but --tok"),
        (
            "--tokenizer a --no-joint-vocabulary",
            "for separate vocabularies give --tokenizer two models",
        ),
        ("--tokenizer a b c", "--tokenizer takes one model for both languages, or two, got 3"),
        ("--tokenizer no.model", "no tokenizer model at no.model"),
        (
            "--data prepared --prepared a --tokenizer b",
            "--tokenizer cannot be changed after the corpus",
        ),
        (
            "--model.num-heads 3",
            "--model.model-dim (128) is not a multiple of --model.num-heads (3)",
        ),
        ("--model.dropout 2", "--model.dropout is a probability in [0, 1), got 2.0."),
        (
            "--model.max-positions 50",
            "--model.max-positions is needed with --model.positions='learned' and only there",
        ),
        (
            "--model.positions learned --model.max-positions 50",
            "--max-length (256) is more than the model's --model.max-positions (50)",
        ),
        ("--vocab-size 4", "--vocab-size must be at least 5, got 4."),
        ("--init nowhere", "no directory nowhere: give a training run"),
        ("--lora-rank 4", "--lora-rank adapts the weights of a finished run, and there is none"),
        ("--init-vectors no.vec", "no such file: no.vec"),
        ("--init-vectors {folder}/pairs.tsv", "/pairs.tsv has no word vectors: expected a line"),
        ("--unfreeze-steps 9", "--unfreeze-steps lets the weights of a finished run learn one"),
        ("--lora-rank -1", "--lora-rank must be at least 0, got -1"),
        (
            "--patience 3 --data tsv --train-tsv {folder}/pairs.tsv",
            "--patience chooses by the validation loss, but there are no validation pairs",
        ),
        ("--output {folder}/run", "/run holds a run already: continue it with"),
        (
            "--output {folder}/run --resume",
            "/run holds a finished model but no checkpoint to resume from",
        ),
        ("--output {folder}/pairs.tsv", "/pairs.tsv: it is a file already"),
        ("--output {folder}/pairs.tsv/run", "/pairs.tsv is a file."),
        ("--data files --train-source no.a --train-target no.b", "no such file: no.a, no.b"),
    ],
)
def test_wrong_settings_are_told_in_one_line_before_any_work(
    run_cli, monkeypatch, tmp_path, flags: str, message: str
) -> None:
    monkeypatch.setattr(train, "load_training", lambda: pytest.fail("TensorFlow is loaded"))
    (tmp_path / "pairs.tsv").write_text("a\tb\n", encoding="utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model.keras").touch()
    words = flags.format(folder=tmp_path).split()
    result = run_cli("train", *(() if "--output" in words else ("--output", "r")), *words)
    assert result.code in (1, 2)
    assert message in result.err and result.err.count("\n") == 1


AGAIN = "no checkpoint was written yet: run the same command with --resume to start again."
LATER = "run the same command with --resume to continue after update 2,000."


@pytest.mark.parametrize(
    ("names", "error", "code", "advice"),
    [
        ((), KeyboardInterrupt, 130, f"interrupted: {AGAIN}"),
        (("step_00001000", "step_00002000"), KeyboardInterrupt, 130, f"interrupted: {LATER}"),
        (("step_00001000", "interrupted_00002000"), Terminated, 143, f"terminated: {LATER}"),
    ],
)
def test_an_interrupted_run_names_resume(
    run_cli, monkeypatch, files, names: tuple[str, ...], error, code: int, advice: str
) -> None:
    def interrupted_train(corpus, directory, **settings):
        (directory / "checkpoints").mkdir(parents=True)
        for name in (*names, "step_copy"):
            (directory / "checkpoints" / f"{name}.npz").touch()
        raise error

    training = types.SimpleNamespace(train=interrupted_train)
    monkeypatch.setattr(train, "load_training", lambda: training)
    result = run_cli(
        *("train", "--data", "files", "--output", files / "run"),
        *("--train-source", files / "a.en", "--train-target", files / "a.es"),
    )
    assert (result.code, result.err) == (code, f"keras-transformer train: {advice}\n")


def test_every_config_field_has_a_flag_but_what_tokenizers_decide(run_cli) -> None:
    text = run_cli("train", "--help-all").out
    fields = {field.name for field in dataclasses.fields(TransformerConfig)}
    shown = {name for name in fields if f"--model.{name.replace('_', '-')} " in text}
    others = {"source_vocab_size", "target_vocab_size", "special_ids", "marks"}
    others |= {"block_pattern", "encoder_pattern"}
    assert fields - shown == others | {"rotary_scaling"}


def spm_model(path: Path, **special_ids: int) -> Path:
    """Writes a model as `spm_train` would, with the ids that are given."""
    import sentencepiece

    sentences = ["one two", "uno dos"]
    with path.open("wb") as writer:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences),
            model_writer=writer,
            vocab_size=20,
            hard_vocab_limit=False,
            minloglevel=2,
            **special_ids,
        )
    return path


def test_own_tokenizers_reach_the_run(run_cli, calls, tmp_path) -> None:
    ids = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
    one, two = (spm_model(tmp_path / name, **ids) for name in ("one.model", "two.model"))
    demo = ["train", "--output", "r", "--demo-size", 2000, "--tokenizer"]
    assert run_cli(*demo, one).err == ""
    assert run_cli(*demo, one, two).err == ""
    joint, separate = (call["tokenizers"] for call in calls)
    assert joint[0] is joint[1] and joint[0].model == one.read_bytes()
    assert separate[0] is not separate[1] and separate[1].model == two.read_bytes()
    assert calls[0]["vocab_size"] is None


def test_a_tokenizer_without_an_end_of_sentence_is_refused(run_cli, calls, tmp_path) -> None:
    model = spm_model(tmp_path / "own.model", eos_id=-1)
    result = run_cli("train", "--output", "r", "--tokenizer", model)
    assert result.code == 1 and calls == []
    assert f"{model}: the SentencePiece model has no end-of-sentence piece" in result.err


def test_tokenizers_of_different_special_ids_are_refused_before_the_corpus_is_read(
    run_cli, calls, tmp_path
) -> None:
    one = spm_model(tmp_path / "one.model")
    two = spm_model(tmp_path / "two.model", pad_id=0, unk_id=1, bos_id=2, eos_id=3)
    result = run_cli("train", "--output", "r", "--tokenizer", one, two)
    assert result.code == 1 and calls == []
    assert "train both with the same --pad_id, --unk_id, --bos_id and --eos_id" in result.err


def test_the_run_to_fine_tune_reaches_the_run(run_cli, calls, finished_run) -> None:
    run_cli("train", "--output", "r", "--demo-size", 2000, "--init", finished_run)
    assert (calls[0]["init"], calls[0]["vocab_size"]) == (finished_run, None)


def test_a_run_to_fine_tune_rehearses_by_default(run_cli, calls, files, finished_run) -> None:
    given = ["--data", "files", "--train-source", files / "a.en", "--train-target", files / "a.es"]
    valid = ["--valid-source", files / "b.en", "--valid-target", files / "b.es"]
    run_cli("train", "--output", "r", *given, *valid, "--init", finished_run)
    run_cli("train", "--output", "s", *given, "--init", finished_run, "--learning-rate", 0.1)
    recipe = fine_tuning(RunDirectory(finished_run).load_config())
    assert calls[0]["recipe"] == calls[1]["recipe"] == recipe
    assert calls[0]["options"] == TrainOptions().filled(recipe.settings())
    assert (calls[0]["options"].final_model, calls[0]["options"].rehearsal) == ("auto", 1)
    assert calls[1]["options"] == TrainOptions(learning_rate=0.1).filled(recipe.settings())


def test_rehearsal_without_a_run_is_refused_before_the_corpus_is_read(run_cli, calls) -> None:
    result = run_cli("train", "--output", "r", "--rehearsal", 1)
    assert result.code == 1 and calls == []
    assert "give such a run with init (--init)" in result.err


def test_products_that_cannot_be_had_are_refused_before_the_corpus_is_read(run_cli, calls) -> None:
    words = ("--products", "bfloat16", "--dtype-policy", "mixed_bfloat16")
    result = run_cli("train", "--output", "r", *words)
    assert result.code == 1 and calls == []
    assert "leave out --dtype-policy mixed_bfloat16" in result.err


def test_general_text_is_mixed_in(run_cli, calls, files, finished_run) -> None:
    given = ["--data", "files", "--train-source", files / "b.en", "--train-target", files / "b.es"]
    general = ["--general-source", files / "a.en", "--general-target", files / "a.es"]
    result = run_cli("train", "--output", "r", *given, *general, "--init", finished_run)
    assert (result.code, result.err) == (0, "")
    source, target = (
        list(getattr(calls[0]["corpus"].train, side)) for side in ("source", "target")
    )
    assert (source[0], target[0], len(source)) == ("three", "tres", 2)
    assert (source[1], target[1]) in [("one", "uno"), ("two", "dos"), ("three", "tres")]
    config = RunDirectory(finished_run).load_config()
    assert calls[0]["recipe"] == fine_tuning(config, has_general=True)


def test_a_missing_extra_is_told_before_the_corpus_is_read(run_cli, monkeypatch) -> None:
    monkeypatch.setattr(keras_side, "find_spec", lambda name: None)
    monkeypatch.setattr(train, "open_corpus", lambda data: pytest.fail("the corpus is read"))
    result = run_cli("train", "--output", "r")
    assert result.code == 1 and "keras-seq2seq-transformer[train]" in result.err


def test_a_missing_prepared_corpus_is_told_before_tensorflow_is_loaded(tmp_path) -> None:
    program = (
        "import sys\n"
        "from keras_transformer.cli import main\n"
        "code = main(['train', '--data', 'prepared', '--prepared', 'no', '--output', 'r'])\n"
        "sys.exit(code + 2 * ('tensorflow' in sys.modules))\n"
    )
    done = python("-c", program, fails=True, folder=tmp_path)
    assert done.returncode == 1 and "no/manifest.json is missing" in done.stderr


def test_errors_of_training_name_flags(run_cli, monkeypatch) -> None:
    def fail(corpus, directory, **settings):
        raise ValueError(
            "vocab_size=9 is too large for this corpus: lower vocab_size; got dropout=2"
        )

    monkeypatch.setattr(train, "load_training", lambda: types.SimpleNamespace(train=fail))
    result = run_cli("train", "--output", "r", "--demo-size", 2000)
    expected = (
        "--vocab-size=9 is too large for this corpus: lower --vocab-size; got --model.dropout=2"
    )
    assert result.err == f"keras-transformer train: error: {expected}\n"
