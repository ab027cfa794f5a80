"""The four commands on a real, barely trained model: what one writes the next one reads."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from few_updates import without_graphs

from keras_transformer.cli import main
from keras_transformer.export import OnnxTranslator

WORDS = "alpha beta gamma delta epsilon zeta eta theta".split()
SMALL_MODEL = (
    "--vocab-size 28 --model.model-dim 16 --model.feed-forward-dim 16 --model.num-heads 2 "
    "--model.num-encoder-layers 1 --model.num-decoder-layers 1 --batch-tokens 256 --r-drop 0"
).split()


either_model = pytest.mark.parametrize(
    "model", [pytest.param("run_directory", marks=pytest.mark.exhaustive), "exported"]
)


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    """A directory with parallel text: the target is the source reversed."""
    directory = tmp_path_factory.mktemp("text")
    rows = [[WORDS[(i * j + i) % 8] for j in range(1, 2 + i % 5)] for i in range(200)]
    for name, lines in {"source": rows, "target": [row[::-1] for row in rows]}.items():
        joined = "".join(" ".join(row) + "\n" for row in lines)
        (directory / f"{name}.txt").write_text(joined, encoding="utf-8")
        (directory / f"valid_{name}.txt").write_text("".join(joined.splitlines(True)[:12]))
    (directory / "input.txt").write_text("beta alpha\n\nzeta\n", encoding="utf-8")
    return directory


def train_arguments(text: Path, run: Path) -> list[str]:
    source, target = str(text / "source.txt"), str(text / "target.txt")
    given = ["--train-source", source, "--train-target", target]
    valid = [str(text / f"valid_{name}.txt") for name in ("source", "target")]
    given += ["--valid-source", valid[0], "--valid-target", valid[1], "--bleu-sentences", "0"]
    # Hardly trained: what three updates at the full rate would leave says the same without end.
    given += ["--warmup-steps", "500"]
    return ["train", "--data", "files", *given, "--output", str(run), *SMALL_MODEL]


@pytest.fixture(scope="module")
def run_directory(text: Path, tmp_path_factory) -> Path:
    """A run of three updates."""
    run = tmp_path_factory.mktemp("runs") / "small"
    with without_graphs():
        assert main([*train_arguments(text, run), "--max-steps", "3"]) == 0
    return run


@pytest.fixture(scope="module")
def exported(run_directory: Path, tmp_path_factory) -> Path:
    """The run, exported."""
    output = tmp_path_factory.mktemp("exported") / "small"
    assert main(["export", str(run_directory), "--format", "onnx", "--output", str(output)]) == 0
    return output


@pytest.mark.parametrize("beam_size", [pytest.param(1, marks=pytest.mark.exhaustive), 4])
def test_run_and_export_translate_alike(run_cli, text, run_directory, exported, beam_size) -> None:
    flags = ["--beam-size", beam_size, "--max-length", 8, "--scores"]
    stdin = (text / "input.txt").read_bytes()
    by_keras = run_cli("translate", run_directory, *flags, stdin=stdin)
    by_onnx = run_cli("translate", exported, *flags, stdin=stdin)
    assert (by_keras.code, by_onnx.code) == (0, 0)
    keras_rows = [line.split("\t") for line in by_keras.out.splitlines()]
    onnx_rows = [line.split("\t") for line in by_onnx.out.splitlines()]
    assert [row[1] for row in keras_rows] == [row[1] for row in onnx_rows]
    assert len(keras_rows) == 3 and keras_rows[1] == ["0.000000", ""]
    for keras_row, onnx_row in zip(keras_rows, onnx_rows, strict=True):
        assert float(keras_row[0]) == pytest.approx(float(onnx_row[0]), abs=1e-4)


def test_run_and_export_score_alike(run_cli, text, run_directory, exported) -> None:
    flags = ["--source", text / "source.txt", "--reference", text / "target.txt"]
    results = []
    for model in (run_directory, exported):
        result = run_cli("evaluate", model, *flags, "--max-length", 8, "--json")
        assert result.code == 0
        results.append(json.loads(result.out) | {"seconds": None})
    assert results[0] == results[1]
    assert results[0]["sentences"] == 200


def test_translating_an_export_imports_no_tensorflow(text, exported) -> None:
    program = (
        "import sys\n"
        "from keras_transformer.cli import main\n"
        f"code = main(['translate', {str(exported)!r}, '--max-length', '4'])\n"
        "sys.exit(code or ', '.join({'tensorflow', 'keras'} & set(sys.modules)) or 0)\n"
    )
    with (text / "input.txt").open("rb") as stdin:
        done = subprocess.run(
            [sys.executable, "-c", program], stdin=stdin, capture_output=True, check=False
        )
    # The model has hardly learnt: what it says over and over is told.
    assert done.returncode == 0
    assert not done.stderr or done.stderr.startswith(b"low confidence in ")
    assert done.stdout.count(b"\n") == 3


def test_a_run_is_not_overwritten_but_resumed(run_cli, text, run_directory, tmp_path) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_directory, run)
    again = run_cli(*train_arguments(text, run), "--max-steps", 4)
    assert again.code == 1
    assert "holds a run already" in again.err and again.err.count("\n") == 1
    with without_graphs():
        assert run_cli(*train_arguments(text, run), "--max-steps", 4, "--resume").code == 0
    record = json.loads((run / "training.json").read_text(encoding="utf-8"))
    assert record["options"]["max_steps"] == 4


def test_an_export_is_replaced_only_when_asked(run_cli, run_directory, exported) -> None:
    refused = run_cli("export", run_directory, "--output", exported)
    assert refused.code == 1 and "--overwrite" in refused.err
    assert run_cli("export", run_directory, "--output", exported, "--overwrite").code == 0


def test_the_demo_example_runs_on_an_export(exported) -> None:
    script = Path(__file__).resolve().parents[2] / "examples" / "demo.py"
    command = [sys.executable, str(script), str(exported), "--sentences", "4", "--show", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines if line] == [
        *("source", "translation", "reference") * 2,
        *("BLEU", "chrF", "exact"),
    ]
    assert lines[-1].startswith("exact match 0.0 % of 4 held-out sentences")


@either_model
def test_a_translation_begins_with_its_prefix(run_cli, request, tmp_path, model) -> None:
    (tmp_path / "prefixes").write_text("zeta\n\ntheta eta\n", encoding="utf-8")
    flags = ("--max-length", 8, "--target-prefixes", tmp_path / "prefixes")
    lines = b"beta alpha\n\nzeta. Beta\n"
    result = run_cli("translate", request.getfixturevalue(model), *flags, stdin=lines)
    first, empty, last = result.out.splitlines()
    assert (result.code, empty) == (0, "")
    assert first.startswith("zeta") and last.startswith("theta eta")


@pytest.mark.parametrize(
    "model", [pytest.param("run_directory", marks=pytest.mark.exhaustive), "exported"]
)
def test_words_stand_for_unknown_tokens(run_cli, request, model) -> None:
    flags = ("--max-length", 8, "--replace-unk", "--target-prefix", "☃")
    result = run_cli("translate", request.getfixturevalue(model), *flags, stdin=b"beta\n")
    assert result.out.startswith("beta")


def test_score_writes_log_probabilities(run_cli, tmp_path, text, run_directory, exported) -> None:
    files = [text / "source.txt", text / "target.txt"]
    sources, targets = (file.read_text(encoding="utf-8").splitlines() * 2 for file in files)
    for name, lines in (("source", sources), ("target", targets)):  # more than one block
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    flags = ("--source", tmp_path / "source", "--target", tmp_path / "target")
    expected = OnnxTranslator(exported).score(sources, targets)
    for model, more in ((run_directory, ()), (exported, ()), (exported, ("--per-token",))):
        result = run_cli("score", model, *flags, *more)
        assert result.code == 0
        wanted = [one.log_probability / (len(one.ids) + 1 if more else 1) for one in expected]
        assert list(map(float, result.out.splitlines())) == pytest.approx(wanted, abs=1e-4)


@pytest.mark.parametrize("model", ["run_directory", "exported"])
@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("beta\n", "alpha\nzeta\n", "parallel files need equally many lines"),
        ("", "", "the corpus is empty"),
        ("beta\n" + "alpha " * 40 + "\n", "a\nb\n", "line 2 of {source} has "),
    ],
)
def test_what_cannot_be_scored_is_named(
    run_cli, request, tmp_path, model: str, source: str, target: str, message: str
) -> None:
    files = [tmp_path / "source", tmp_path / "target"]
    for file, text in zip(files, (source, target), strict=True):
        file.write_text(text, encoding="utf-8")
    flags = ("--source", files[0], "--target", files[1], "--max-source-length", 30)
    result = run_cli("score", request.getfixturevalue(model), *flags)
    assert (result.code, result.out) == (1, "")
    assert message.format(source=files[0]) in result.err


PHARAOH = re.compile(r"(\d+-\d+)( \d+-\d+)*")


@pytest.mark.parametrize("long_lines", ["split", pytest.param("cut", marks=pytest.mark.exhaustive)])
def test_run_and_export_align_the_same_words(
    run_cli, run_directory, exported, long_lines: str
) -> None:
    flags = ("--max-length", 8, "--scores", "--alignments", "--long-lines", long_lines)
    flags += ("--beam-size", 2, "--num-hypotheses", 2)
    lines = b"beta alpha zeta\n\nBeta alpha. Zeta eta.  Theta.\n"
    by_onnx = run_cli("translate", exported, *flags, stdin=lines)
    by_keras = run_cli("translate", run_directory, *flags, stdin=lines)
    found = [line.split("\t") for line in by_onnx.out.splitlines()]
    assert [row[1:] for row in found] == [
        line.split("\t")[1:] for line in by_keras.out.splitlines()
    ]
    assert [row[1:] for row in found[2:4]] == [["", ""], ["", ""]]
    sizes = (3, 3, 0, 0, 5, 5)
    for (_, text, alignment), source_words in zip(found, sizes, strict=True):
        assert source_words == 0 or PHARAOH.fullmatch(alignment)
        pairs = [tuple(map(int, pair.split("-"))) for pair in alignment.split()]
        assert {target for _, target in pairs} == set(range(len(text.split())))
        assert all(source < source_words for source, _ in pairs)
    # Every sentence is aligned with its own words.
    if long_lines == "split":
        assert {source for source, _ in pairs} & {4} and {source for source, _ in pairs} & {0, 1}


LONG = b"beta alpha\n" + b"alpha beta " * 700 + b"\nzeta\n"


def test_one_very_long_line_ends_no_job(run_cli, exported) -> None:
    result = run_cli("translate", exported, "--max-length", 8, stdin=LONG)
    assert (result.code, result.err) == (0, "low confidence in 3 of 3 lines: 1, 2, 3\n")
    assert result.out.count("\n") == 3


@either_model
def test_a_long_line_is_refused_by_its_number(run_cli, request, model) -> None:
    flags = ("--max-length", 8, "--long-lines", "refuse", "--max-source-length", 30)
    result = run_cli("translate", request.getfixturevalue(model), *flags, stdin=b"\n" + LONG)
    assert (result.code, result.out.count("\n")) == (1, 2)
    assert "keras-transformer translate: error: line 3 of the input has 14" in result.err
    assert "more than the 30 allowed: use --long-lines split or cut" in result.err


def test_lines_of_low_confidence_are_named_where_a_long_line_ends_the_job(
    run_cli, exported
) -> None:
    flags = ("--max-length", 8, "--long-lines", "refuse", "--max-source-length", 30)
    lines = b"zeta\n" + LONG
    result = run_cli("translate", exported, *flags, "--min-score", "-0.001", stdin=lines)
    assert result.code == 1
    named, error = result.err.splitlines()
    assert named == "low confidence in 2 of 2 lines: 1, 2"
    assert "line 3 of the input has 14" in error


def test_a_long_line_is_cut_only_aloud(run_cli, exported) -> None:
    flags = ("--max-length", 8, "--block-lines", 1, "--long-lines", "cut")
    result = run_cli("translate", exported, *flags, stdin=LONG)
    assert (result.code, result.out.count("\n")) == (0, 3)
    assert "line 2 of the input was cut: it has 1400 tokens, 512 are read." in result.err


def test_lines_of_several_sentences_come_out_whole(run_cli, exported) -> None:
    apart = run_cli("translate", exported, "--max-length", 8, stdin=b"Beta.\nAlpha zeta!\n")
    together = run_cli("translate", exported, "--max-length", 8, stdin=b" Beta.   Alpha zeta!\n")
    assert together.out == " {}   {}\n".format(*apart.out.splitlines())


def test_export_carries_what_training_saw(run_directory, exported) -> None:
    record = json.loads((run_directory / "training.json").read_text(encoding="utf-8"))
    assert record["training_text"]["sentences"] == [200]
    assert record["training_text"]["longest_source"] >= 5
    manifest = json.loads((exported / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["training_text"] == record["training_text"]


def test_a_provider_may_be_named(run_cli, exported) -> None:
    default = run_cli("translate", exported, stdin=b"beta\n")
    named = run_cli("translate", exported, "--provider", "CPUExecutionProvider", stdin=b"beta\n")
    assert default.code == 0
    assert named == default


@pytest.mark.parametrize("command", ["translate", "evaluate", "serve"])
def test_a_provider_that_is_not_there_is_refused(run_cli, text, exported, command) -> None:
    files = ["--source", text / "source.txt", "--reference", text / "target.txt"]
    flags = {"translate": [], "evaluate": files, "serve": ["--port", 0]}[command]
    result = run_cli(command, exported, *flags, "--provider", "CUDAExecutionProvider:device_id=1")
    assert (result.code, result.out) == (1, "")
    assert "no 'CUDAExecutionProvider', only" in result.err
    assert "install onnxruntime-gpu" in result.err


def test_a_provider_for_a_training_run_is_refused(run_cli, run_directory) -> None:
    result = run_cli("translate", run_directory, "--provider", "CPUExecutionProvider")
    assert result.code == 1
    assert (
        f"--provider is for exported artefacts, and {run_directory} is a training run" in result.err
    )


@pytest.mark.exhaustive
def test_a_student_is_distilled_from_a_run(run_cli, text, run_directory, tmp_path) -> None:
    student = tmp_path / "student"
    files = train_arguments(text, student)[1:]
    # The student's vocabulary is the teacher's.
    files = files[: files.index("--vocab-size")] + files[files.index("--vocab-size") + 2 :]
    flags = (*files, "--beam-size", 2, "--shard-lines", 120, "--max-steps", 3)
    part = run_cli("distill", run_directory, *flags, "--shard", "1/2")
    assert (part.code, part.out.splitlines()[-1]) == (0, "1 of 2 shards are translated")
    whole = run_cli("distill", run_directory, *flags)
    assert (whole.code, whole.err) == (0, "")
    assert "shard 2 of 2: 80 of 80 lines" in whole.out and "shard 1 of 2" not in whole.out
    record = json.loads((student / "distillation.json").read_text(encoding="utf-8"))
    assert [(one["model"], one["beam_size"]) for one in record["comparison"]] == [
        *(("teacher", 1), ("teacher", 2)),
        *(("student", 1), ("student", 2)),
    ]
    assert all(one["sentences_per_second"] > 0 for one in record["comparison"])
    training = json.loads((student / "training.json").read_text(encoding="utf-8"))
    assert (training["start"]["word_level"], training["options"]["r_drop"]) == (0.5, 0.0)
    assert (student / "tokenizer.model").read_bytes() == (
        run_directory / "tokenizer.model"
    ).read_bytes()
    changed = run_cli("distill", run_directory, *flags, "--length-penalty", 1)
    assert changed.code == 1
    assert "was made with --length-penalty=0.6, not 1.0: give what it was made with" in changed.err
    other = run_cli("distill", run_directory, *flags, "--word-level", 0.25)
    assert other.code == 1 and "was started with --word-level=0.5, not 0.25" in other.err
