"""Runs that learn from texts without labels, too: resumed exactly, and refused where they cannot
be.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from few_updates import without_graphs
from single_texts import LABELLED, weights

from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.run.loss_record import read_losses
from keras_transformer.training.texts.options import TextOptions

TAGGED = TaggedCorpus(TaggedTexts([["ab", "cad"], ["bed"]], [["X", "Y"], ["Y"]], "example"))
TWO = {"max_steps": 2, "checkpoint_steps": 1, "batch_tokens": 64}


@pytest.fixture
def unlabelled(tmp_path: Path) -> TextOptions:
    """A file of texts."""
    path = tmp_path / "unlabelled.txt"
    path.write_text("bad cab\nabba dab\nfed bed\n" * 6, "utf-8")
    return TextOptions(unlabelled_text=path)


@pytest.mark.parametrize(
    ("task", "corpus"),
    [("classify", LABELLED), pytest.param("tag", TAGGED, marks=pytest.mark.exhaustive)],
)
def test_a_resumed_run_is_the_unbroken_one(start, tmp_path, unlabelled, task, corpus) -> None:
    settings: dict[str, Any] = {"text_options": unlabelled, "vocab_size": None}
    with without_graphs():
        whole = start(task, "whole", corpus, options=TWO, **settings)
        start(task, "broken", corpus, options={**TWO, "max_steps": 1}, **settings)
        resumed = start(task, "broken", corpus, options=TWO, resume=True, **settings)
    losses = [read_losses(tmp_path / name / "losses.tsv") for name in ("whole", "broken")]
    assert losses[0] == losses[1] and len(losses[0]) == 2
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])
    # The views' heads are left behind: they are no part of the model.
    assert set(weights(load_run(tmp_path / "broken")[0])) == set(weights(whole))
    record = json.loads((tmp_path / "broken" / "training.json").read_text())
    assert len(record["data"]["unlabelled_text"]) == 64


PAIRS = LabelledCorpus(LabelledTexts(["x", "y"], ["ab", "ba"], ["ca", "ac"], "example"))


@pytest.mark.parametrize(
    ("task", "corpus", "given", "options", "message"),
    [
        ("classify", PAIRS, {}, {}, "unlabelled_text is for single texts with one label each"),
        ("tag", TAGGED, {"crf": True}, {}, "unlabelled_text does not go with crf"),
        ("classify", LABELLED, {}, {"r_drop": 1.0}, "r_drop=1.0 is not for unlabelled_text"),
    ],
)
def test_what_it_does_not_go_with_is_told(
    start, tmp_path, unlabelled, task, corpus, given, options, message: str
) -> None:
    text_options = TextOptions(unlabelled_text=unlabelled.unlabelled_text, **given)
    with pytest.raises(ValueError, match=message):
        start(task, "run", corpus, options=options, text_options=text_options)
    assert not (tmp_path / "run").exists()


def test_a_missing_file_is_told_before_any_work(start, tmp_path: Path) -> None:
    options = TextOptions(unlabelled_text=tmp_path / "nothing.txt")
    with pytest.raises(FileNotFoundError, match="no such file: .*nothing.txt"):
        start("classify", "run", LABELLED, text_options=options)


def test_other_tasks_have_no_use_for_it(start, unlabelled: TextOptions) -> None:
    with pytest.raises(ValueError, match="is for classify and tag, not for masked-lm"):
        start("masked-lm", "run", text_options=unlabelled)
