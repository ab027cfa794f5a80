"""docs/import.md: its table names everything that is read, and nothing else."""

import re
from pathlib import Path

from keras_transformer.pretrained.recognise import HUGGINGFACE

PAGE = Path(__file__).parents[2] / "docs" / "import.md"


def test_the_table_names_the_architectures_of_hugging_face() -> None:
    rows = [
        line.split("|")
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| Hugging Face")
    ]
    named = {name for row in rows for name in re.findall(r"`([a-z0-9_]+)`", row[3])}
    assert named == set(HUGGINGFACE)
