"""The commands of docs/families.md for tags that are found together, run as they are shown."""

import re
from pathlib import Path

import pytest
from shell_commands import outputs

PAGE = Path(__file__).parents[3] / "docs" / "families.md"
# Only the word before tells whether "York" goes on with a span.
LINES = (
    "Ann/B-PER met/O York/B-PER",
    "she/O saw/O New/B-LOC York/I-LOC",
    "New/B-LOC York/I-LOC met/O",
)


@pytest.mark.exhaustive
def test_a_tagger_is_trained_asked_exported_and_asked_again(tmp_path: Path) -> None:
    section = PAGE.read_text(encoding="utf-8").partition("### Tags found together")[2]
    found = re.search(r"```bash\n(.*?)```", section, re.DOTALL)
    assert found is not None
    commands = found[1].splitlines()
    assert [line.split()[1] for line in commands] == ["train", "tag", "export", "tag"]
    for name in ("tags.txt", "tags2.txt"):
        (tmp_path / name).write_text("\n".join(8 * LINES) + "\n", encoding="utf-8")
    words = ["she saw New York", "", "York"]
    (tmp_path / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    answers = outputs(commands, tmp_path)
    assert "val_span_f1: 1.0000" in answers[0]
    assert answers[1] == answers[3]
    first, empty, alone = answers[1].splitlines()
    assert (first, empty) == ("O O B-LOC I-LOC", "") and not alone.startswith("I-")
