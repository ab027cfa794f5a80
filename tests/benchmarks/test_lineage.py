"""The lineage: what its systems are made of, its gold tags, and how it is shown."""

from pathlib import Path

import pytest
from ideas import report
from ideas.corpora import Task, tagged_words
from ideas.learn import tag_score
from ideas.systems import SYSTEMS
from lineage import _cells

LINES = [
    {"pretraining": "gpt", "seconds": 9.0},
    {"system": "GPT", "task": "labels", "seed": 0, "score": 70.0},
    {"system": "GPT", "task": "labels", "seed": 1, "score": 80.0},
    {"system": "GPT", "task": "bits", "seed": 0, "score": 1.5},
    {"system": "BERT", "task": "labels", "seed": 0, "score": 50.0},
]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_a_system_is_tuned_from_what_it_pretrains(system) -> None:
    made = {one.name for one in system.pretraining}
    values = [
        one
        for value in (system.tuning or {}).values()
        for one in (value if isinstance(value, list) else [value])
    ]
    asked = {str(one).strip("{}") for one in values if str(one).startswith("{")}
    assert asked <= made and (system.language_model or next(iter(made), None)) in {*made, None}
    assert sum(one.share for one in system.pretraining) in (0, 1)


def test_who_reads_single_texts_has_no_part_in_pairs() -> None:
    pairs = Task("pairs", "classify", [], [], [("same", "a", "b")])
    texts = Task("texts", "classify", [], [], [("de", "a")])
    asked = {
        system.name: [task for task, _ in _cells(system, [pairs, texts], range(1))]
        for system in SYSTEMS
    }
    assert asked["CVT"] == [texts] and asked["BERT"] == [pairs, texts]
    assert asked["Transformer-XL"] == []


def test_words_are_tagged_by_their_form() -> None:
    words, tags = tagged_words("Use <b>%s</b> or %d files --all 42 times") or ([], [])
    found = dict(zip(words, tags, strict=True))
    assert (found["<b>%s</b>"], found["%d"], found["--all"], found["42"], found["or"]) == (
        *("MARKUP", "PLACEHOLDER", "OPTION", "NUMBER", "O"),
    )
    assert tagged_words("nothing but words") is None


def test_f1_counts_words_that_are_no_plain_ones() -> None:
    assert tag_score([["A", "O", "B"]], [["A", "B", "O"]]) == 50.0
    assert tag_score([["O"]], [["O"]]) == 0.0


def test_means_of_the_seeds_stand_in_table_and_picture(tmp_path: Path) -> None:
    text = report.table(LINES, ["BERT", "GPT", "XLNet"], ["labels", "bits"])
    assert "| GPT | 75.0 | 1.500 |" in text and "| BERT | 50.0 | – |" in text
    assert "XLNet" not in text
    report.draw(LINES, ["BERT", "GPT"], ["labels", "bits"], tmp_path / "lineage.svg")
    assert "75.0" in (tmp_path / "lineage.svg").read_text("utf-8")
