"""What docs/import.md shows runs, line by line: a model that others trained is tuned and served."""

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.cli import main
from keras_transformer.export import OnnxTranslator
from keras_transformer.runs.run_directory import RunDirectory

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "tests" / "fixtures" / "translators" / "marian"
TEXTS = ["Two dogs run.", "A man sits on a bench."]


def example() -> list[list[str]]:
    """Returns the words of each command of the page's example."""
    page = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```bash\n(keras-transformer import[^`]*?serve[^`]*?)```", page)
    lines = block.replace("\\\n", " ").splitlines()
    assert len(block.splitlines()) <= 10
    return [shlex.split(line)[1:] for line in lines]


@pytest.mark.exhaustive
def test_the_example_imports_fine_tunes_and_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launch: Callable[..., Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("own", "own_valid"):
        for language in ("en", "de"):
            Path(f"{name}.{language}").write_text("\n".join([*TEXTS * 20, ""]), encoding="utf-8")
    Path("opus-mt-en-de").symlink_to(MODEL, target_is_directory=True)
    *commands, serve = example()
    for words in commands:
        assert main(words) == 0, words
    record = RunDirectory(Path("runs/mine")).load_training()
    assert record["options"]["learning_rate"] < 0.001 and record["finished"]
    assert serve[:2] == ["serve", "exported/mine"]
    expected = OnnxTranslator("exported/mine").translate(TEXTS)
    assert launch(Path("exported/mine")).translate(TEXTS) == expected
