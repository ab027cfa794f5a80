"""Rerankers that are trained from imported encoders, by the commands of docs/reranking.md."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer import TextEncoder
from keras_transformer.runs.finished_run import load_run

STACKS = Path(__file__).parents[3] / "fixtures" / "stacks"
PAIRS = json.loads((STACKS / "bert_reranker" / "reference.json").read_text("utf-8"))["pairs"][:6]
# These have neither token types nor a second separator between the texts of a pair.
BY_SEPARATOR = ("modernbert", "deberta", "distilbert")
OTHERS = ("albert", "bert", "deberta_classes", "electra", "mpnet", "nomic_bert", "roberta")


@pytest.mark.parametrize(
    "name",
    [
        *BY_SEPARATOR,
        "xlm_roberta",
        *(pytest.param(name, marks=pytest.mark.exhaustive) for name in OTHERS),
    ],
)
@pytest.mark.usefixtures("few_updates")
def test_an_imported_encoder_becomes_a_reranker(
    name: str, run_cli: Callable[..., Any], tmp_path: Path
) -> None:
    scored = "".join(f"{place % 2}\t{one}\t{two}\n" for place, (one, two) in enumerate(PAIRS))
    (tmp_path / "train.tsv").write_text(scored, encoding="utf-8")
    imported, mine, artefact = (tmp_path / one for one in ("imported", "mine", "artefact"))
    train = ["train", "--task", "rerank", "--init", imported, "--train-tsv", tmp_path / "train.tsv"]
    for words in (
        ["import", STACKS / name, "--output", imported],
        [*train, "--output", mine, "--max-steps", 1, "--max-length", 60],
        ["export", mine, "--format", "onnx", "--output", artefact],
    ):
        result = run_cli(*words)
        assert result.code == 0, result.err
    lines = "".join(f"{one}\t{two}\n" for one, two in PAIRS).encode()
    result = run_cli("rerank", artefact, "--threads", 1, stdin=lines)
    found = {tuple(line.split("\t")[::2]): line.split("\t")[1] for line in result.out.splitlines()}
    scores = TextEncoder(*load_run(mine)[:2]).regress(*zip(*PAIRS, strict=True))
    assert [float(found[one, two]) for one, two in PAIRS] == pytest.approx(scores, abs=2e-6)
