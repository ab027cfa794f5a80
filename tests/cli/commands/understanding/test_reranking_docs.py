"""The commands and the Python of docs/reranking.md, run as they are shown."""

import re
import shutil
from pathlib import Path

import pytest
from shell_commands import outputs

TESTS = Path(__file__).parents[3]
PAGE = TESTS.parent / "docs" / "reranking.md"
FIXTURE = TESTS / "fixtures" / "stacks" / "bert_reranker"


@pytest.mark.exhaustive
def test_a_directory_is_imported_exported_and_ranks_texts(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    [commands] = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    [program] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    shutil.copytree(FIXTURE, tmp_path / "ms-marco-MiniLM-L6-v2")
    (tmp_path / "page.py").write_text(program, encoding="utf-8")
    *_, ranked, printed = outputs([*commands.splitlines(), "python page.py"], tmp_path)
    first, second = (line.split("\t") for line in ranked.splitlines()[-2:])
    assert first[0] == second[0] == "where do cats sleep"
    assert {first[2], second[2]} == {"Dogs sleep outside.", "A cat sleeps on the sofa."}
    assert 1 > float(first[1]) > float(second[1]) > 0
    assert first[2] in printed
