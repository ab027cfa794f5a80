"""What no model or corpus can mend is told before TensorFlow is loaded, which takes seconds."""

import json

import pytest
from fresh_process import python

from keras_transformer.config import TransformerConfig

REFUSED = {
    "export run --output new --opset 3": "--opset must be at least 18, got 3.",
    "export run --output new --target portable --quantize int8": (
        "--quantize='int8' needs onnxruntime's operators: give --target='onnxruntime'."
    ),
    "export run --output file/new": "/file: it is a file already, choose another name.",
    "export run --output file": "/file exists: choose another directory, or --overwrite.",
    "export run --output file --overwrite": "/file exists but holds no manifest.json",
    "export unfinished --output new": "model.keras is missing: the run has not finished",
    "export run --output new --format saved_model --version=-1": (
        "--version must be at least 1, got -1."
    ),
    "export run --output new --format saved_model --max-source-length 0": (
        "--max-source-length must be at least 1, got 0."
    ),
    "export run --output file/new --format saved_model": "/file is a file.",
    "plot positions --output a.png --length 0": "--length must be at least 1, got 0.",
    "plot positions --output a.png --model-dim 1": "--model-dim must be at least 2, got 1.",
    "plot masks --output a.png --tokens 0": "--tokens must be at least 1, got 0.",
    "plot masks --output a.png --padding=-1": "--padding must be at least 0, got -1.",
    "plot masks --output file/a.png": "cannot write file/a.png:",
    "plot corpus --output a.png --vocab-size 2": "--vocab-size must be at least 5, got 2.",
    "plot corpus --output a.png --max-length 1": "--max-length must be at least 2",
    "plot corpus --output a.png --demo-size 100 --vocab-size 4000": (
        "--vocab-size=4000 is too large for this corpus"
    ),
    "plot corpus --output a.png --run missing": "no directory missing: give a training run",
    "evaluate run --source file --reference file --output file/a": "cannot write file/a:",
    "train --output new --max-length 1": "--max-length must be at least 2",
}
PROGRAM = """
import contextlib, io, json, sys
from keras_transformer.cli import main
answers = []
for line in json.load(sys.stdin):
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        code = main(line.split())
    answers.append((code, error.getvalue(), "tensorflow" in sys.modules))
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, bool]]:
    """Exit code, message and whether TensorFlow is loaded, for each command line."""
    directory = tmp_path_factory.mktemp("early")
    (directory / "file").write_text("a line\n")
    config = TransformerConfig.preset("tiny", vocab_size=20).to_json()
    for name in ("run", "unfinished"):
        (directory / name).mkdir()
        (directory / name / "config.json").write_text(config)
    (directory / "run" / "model.keras").touch()
    # A path would hide Matplotlib.
    done = python("-c", PROGRAM, given=json.dumps([*REFUSED]), folder=directory, PYTHONPATH="")
    return dict(zip(REFUSED, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("line", REFUSED)
def test_the_error_comes_before_tensorflow_is_loaded(answers, line: str) -> None:
    code, message, has_tensorflow = answers[line]
    assert code == 1 and REFUSED[line] in message and message.count("\n") == 1
    assert not has_tensorflow
