"""examples/pretrain_and_finetune.py and examples/generate.py: minutes of work, here in small."""

import re
from pathlib import Path

import pytest
from fresh_process import python

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SMALL = ("--sentences", "4000", "--epochs", "1")


def run(name: str, *arguments: str) -> list[str]:
    """Runs an example and returns the lines that it prints."""
    result = python(EXAMPLES / name, *SMALL, *arguments, TF_CPP_MIN_LOG_LEVEL="3")
    return result.stdout.splitlines()


@pytest.mark.exhaustive
def test_the_example_of_transfer_trains_two_classifiers_and_fills_in_a_mask() -> None:
    *_, scratch, pretrained, filled = run("pretrain_and_finetune.py", "--labelled", "60")
    for line, name in ((scratch, "from scratch"), (pretrained, "pretrained")):
        [share] = re.fullmatch(rf"{name} +([\d.]+) % of \d+ right", line).groups()
        # Three quarters are statements: a classifier that has learnt nothing says so of all.
        assert 50 < float(share) <= 100
    assert re.fullmatch(r"The <mask> is old -> The .+ is old", filled)


@pytest.mark.exhaustive
def test_the_example_of_generation_learns_the_texts_and_continues_prompts() -> None:
    lines = run("generate.py")
    [figure] = [line for line in lines if line.startswith("perplexity of ")]
    assert 1 < float(figure.split(": ")[1]) < 600  # the vocabulary has 600 pieces
    for prompt in ("The girl", "How many", ""):
        assert sum(line.startswith(f"{prompt} -> {prompt}") for line in lines) >= 3
