"""`neighbours`: a line a word or an analogy; other lines are named."""

from pathlib import Path

import pytest

ROWS = "man 1 0 0\nwoman 1 1 0\nking 1 0 1\nqueen 1 1 1\n"


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "v.txt"
    path.write_text(ROWS, "utf-8")
    return path


def test_words_and_analogies_are_answered_in_order(vectors: Path, run_cli) -> None:
    result = run_cli("neighbours", vectors, "--count=2", stdin=b"man\nman woman king\n")
    first, second = result.out.splitlines()
    assert first.split("\t") == ["woman 0.707", "king 0.707"]
    assert second.startswith("queen 0.")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("man\nqeen", "line 2 of the input: there is no vector of 'qeen'; did you mean 'queen'?"),
        ("man woman", "line 1 of the input: expected one word, or three for an analogy, got 2."),
    ],
)
def test_wrong_lines_are_named(vectors: Path, run_cli, line: str, message: str) -> None:
    result = run_cli("neighbours", vectors, stdin=line.encode())
    assert result.code == 1 and message in result.err
