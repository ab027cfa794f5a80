"""The commands of docs/contextual_features.md, run as they are shown, with fewer updates."""

import re
from pathlib import Path

import pytest
from shell_commands import outputs
from single_texts import LABELS, LINES

PAGE = Path(__file__).parents[3] / "docs" / "contextual_features.md"
QUICK = " --max-steps 60 --checkpoint-steps 60 --vocab-size 14"


@pytest.mark.exhaustive
def test_a_classifier_reads_words_with_two_runs_and_answers(tmp_path: Path) -> None:
    found = re.search(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    commands = found[1].splitlines()
    assert [line.split()[1] for line in commands] == ["train", "train", "train", "classify"]
    labelled = [f"{label}\t{line}" for label, line in zip(LABELS, LINES, strict=True)]
    for name, lines in (("a.txt", LINES), ("b.txt", LINES), ("texts.txt", LINES[:6])):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("train.tsv", "valid.tsv"):
        (tmp_path / name).write_text("\n".join(labelled) + "\n", encoding="utf-8")
    quick = [command + (QUICK if " train " in command else "") for command in commands]
    answers = outputs(quick, tmp_path)
    assert "states of 216 words by 2 runs" in answers[2]
    assert [line.split("\t")[0] for line in answers[3].splitlines()] == LABELS[:6]
