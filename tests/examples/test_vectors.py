"""examples/node2vec.py and examples/lda2vec.py: what belongs together is found to."""

import itertools
import random
import sys
from pathlib import Path

import pytest

from keras_transformer.vectors.files import VectorFile
from keras_transformer.vectors.neighbours import WordVectors

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch):
    """Runs an example in this process."""
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def run(name: str, *arguments: object) -> None:
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        __import__(name).main()

    return run


def test_nodes_of_one_cluster_are_neighbours(tmp_path: Path, example) -> None:
    clusters = [[f"{letter}{number}" for number in range(6)] for letter in "ab"]
    edges = [f"{one}\t{two}" for nodes in clusters for one in nodes for two in nodes if one < two]
    (tmp_path / "edges.tsv").write_text("\n".join([*edges, "a0\tb0", ""]), "utf-8")
    example("node2vec", tmp_path / "edges.tsv", tmp_path / "nodes.txt", "--dim", 8)
    vectors = WordVectors(VectorFile.open(tmp_path / "nodes.txt"))
    assert {word[0] for word, _ in vectors.neighbours("a3", 5)} == {"a"}


def test_a_broken_line_of_a_graph_is_named(tmp_path: Path, example) -> None:
    (tmp_path / "edges.tsv").write_text("a\tb\na b\n", "utf-8")
    with pytest.raises(SystemExit, match=r"line 2: expected two nodes .* got 'a b'"):
        example("node2vec", tmp_path / "edges.tsv", tmp_path / "nodes.txt")


@pytest.mark.exhaustive
def test_topics_of_texts_stand_among_their_words(tmp_path: Path, example, capsys) -> None:
    ends = list(map("".join, itertools.product("abcdefg", repeat=2)))
    subjects = [[f"{kind}{end}" for end in ends] for kind in ("animal", "city")]
    draw = random.Random(0)
    lines = [" ".join(draw.choices(draw.choice(subjects), k=8)) for _ in range(800)]
    (tmp_path / "texts.txt").write_text("\n".join(lines), "utf-8")
    example("lda2vec", tmp_path / "texts.txt", "--topics", 2, "--words", 3)
    topics = [line for line in capsys.readouterr().out.splitlines() if line.startswith("topic")]
    assert len(topics) == 2
    for line in topics:
        words = set(line.partition(": ")[2].replace(" -> ", ", ").split(", "))
        assert any(words <= set(subject) for subject in subjects)
