"""`vectors`: its file starts a model, finds neighbours and is drawn; errors name flags."""

from pathlib import Path

import pytest

CAPTIONS = "A man rides a horse.\nA woman rides a bike.\nA dog runs.\nA man runs.\n"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "a.txt"
    path.write_text(CAPTIONS * 20, "utf-8")
    return path


@pytest.mark.exhaustive
def test_trained_vectors_are_the_first_embeddings_of_a_model(tmp_path, text, run_cli) -> None:
    vectors = tmp_path / "v.txt"
    result = run_cli("vectors", "--train-text", text, "--output", vectors, "--dim", "16")
    assert result.code == 0 and f"wrote {vectors}: 10 words, 16 numbers each" in result.out
    shape = (
        "--model.model-dim 16 --model.num-heads 2 --model.feed-forward-dim 16 --model.num-layers 1"
    )
    flags = f"--task masked-lm --preset bert-tiny --max-steps 1 {shape}".split()
    files = ["--train-text", text, "--valid-text", text, "--output", tmp_path / "run"]
    result = run_cli("train", *flags, *files, "--init-vectors", vectors)
    assert result.code == 0 and "pieces have a vector" in result.out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--output v.csv", "error: a file of word vectors ends in .txt"),
        ("--output v.txt --min-count 1000", "give more text, or a smaller --min-count"),
        ("--output v.txt --method poincare --window 2", "--window is for texts"),
    ],
)
def test_wrong_flags_are_told(text, run_cli, flags: str, message: str) -> None:
    result = run_cli("vectors", "--train-text", text, *flags.split())
    assert result.code in (1, 2) and message in result.err
    assert result.err.count("\n") == 1
