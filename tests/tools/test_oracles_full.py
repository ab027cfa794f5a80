"""A row of the table that compares ours with others' whole runs: it counts what is equal."""

from types import SimpleNamespace
from typing import Any

from tools.oracles.full import Answers, Given, row

EOS = 3


def given(**reference: Any) -> Given:
    model = SimpleNamespace(config=SimpleNamespace(special_ids=SimpleNamespace(eos=EOS)))
    return Given(model, None, None, reference)


def test_sentences_are_counted_until_their_end() -> None:
    theirs = given(
        log_probabilities=[-1.0, -2.0, -3.0],
        beam_1=[[5, EOS], [6, 7], [8, EOS, 0]],
        beam_4=[[5, EOS], [6, EOS], [9, EOS]],
    )
    ours = Answers([-1.0, -2.25, -3.0], {1: [[5], [6, 7], [8]], 4: [[5], [6], [8]]})
    assert row("t5", "Keras", theirs, ours) == "| t5 | Keras | 3 | 3 | 2 | 0.250000 |"


def test_a_sample_and_a_missing_search_are_told() -> None:
    theirs = given(log_probabilities=[-1.0, -2.0], beam_4=[[5, EOS], [6, EOS]])
    ours = Answers([-1.0], {4: [[5]]})
    assert row("t5", "SavedModel", theirs, ours) == "| t5 | SavedModel | 1 | – | 1 | 0.000000 |"


def test_searches_end_where_theirs_did() -> None:
    assert given(max_length=20).limits["max_length"] == 20
    limits = given(max_length_ratio=3, source_ids=[[1], [1, 2]]).limits
    assert (limits["max_length"], limits["max_length_ratio"]) == (6, 3.0)
