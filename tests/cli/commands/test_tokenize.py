"""`tokenize`: lines become pieces or ids, and come back."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import train_tokenizer

SOURCE, TARGET = (
    train_tokenizer([text] * 2, 24, "bpe") for text in ("the red house stands", "la casa roja esta")
)
LINES = "the red house\n\nred \u2603 the\n"


@pytest.fixture
def run_directory(tmp_path: Path) -> Path:
    """What `tokenize` reads of a run: no model is there."""
    run = RunDirectory(tmp_path)
    run.save_config(TransformerConfig.preset("tiny", vocab_size=24))
    run.save_tokenizers(SOURCE, TARGET)
    return tmp_path


def test_pieces_and_ids_are_the_tokenizers(run_cli, run_directory) -> None:
    pieces = run_cli("tokenize", run_directory, stdin=LINES.encode())
    ids = run_cli("tokenize", run_directory, "--ids", stdin=LINES.encode())
    assert (pieces.code, pieces.err) == (0, "")
    lines = LINES.splitlines()
    assert [line.split() for line in pieces.out.splitlines()] == list(map(SOURCE.split, lines))
    assert [json.loads(f"[{line.replace(' ', ',')}]") for line in ids.out.splitlines()] == (
        SOURCE.encode(lines)
    )


@pytest.mark.parametrize(("flags", "back"), [([], LINES), (["--ids"], LINES.replace("\u2603", ""))])
def test_detokenize_leads_back(run_cli, run_directory, flags: list[str], back: str) -> None:
    tokens = run_cli("tokenize", run_directory, *flags, stdin=LINES.encode()).out
    again = run_cli("tokenize", run_directory, "--detokenize", *flags, stdin=tokens.encode())
    assert (again.code, again.out) == (0, back)


def test_the_target_side_has_a_vocabulary_of_its_own(run_cli, run_directory) -> None:
    result = run_cli("tokenize", run_directory, "--side", "target", stdin=b"la casa\n")
    assert result.out.split() == TARGET.split("la casa")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("5 the", "line 2 of the input: expected token ids separated by spaces, got 'the'."),
        ("5 24", "line 2 of the input: ids must lie in 0 to 23"),
        ("-1", "got '-1'"),
    ],
)
def test_what_is_no_token_id_is_named_with_its_line(run_cli, run_directory, line, message) -> None:
    stdin = f"5 6\n{line}\n".encode()
    result = run_cli("tokenize", run_directory, "--ids", "--detokenize", stdin=stdin)
    assert (result.code, result.out.count("\n")) == (1, 1)
    assert message in result.err


def test_a_directory_without_a_tokenizer_is_named(run_cli, tmp_path) -> None:
    result = run_cli("tokenize", tmp_path, stdin=b"a\n")
    assert result.code == 1 and "neither manifest.json" in result.err


def test_no_model_and_no_tensorflow_are_loaded(run_directory) -> None:
    program = (
        "import sys\n"
        "from keras_transformer.cli import main\n"
        f"code = main(['tokenize', {str(run_directory)!r}])\n"
        "loaded = {'tensorflow', 'keras', 'onnxruntime'} & set(sys.modules)\n"
        "sys.exit(code or ', '.join(loaded) or 0)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=b"the\n", capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
