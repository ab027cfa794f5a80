"""The files that a call passes: no more than `docs/internals` says, and from end to end."""

import re
from pathlib import Path
from typing import Any

import pytest

import keras_transformer.export
from tools.traces import request_files, translation_files

INTERNALS = Path(__file__).resolve().parents[2] / "docs" / "internals"


@pytest.mark.parametrize(
    ("page", "files_of", "first", "on_the_way"),
    [
        (
            "source_sentence.md",
            translation_files,
            "translation/text_search.py",
            {"translation/text_ids.py", "runtime/engine.py"},
        ),
        (
            "request.md",
            request_files,
            "serving/http/front/connection.py",
            {"serving/http/predict.py", "serving/models/service.py", "runtime/engine.py"},
        ),
    ],
)
def test_a_call_passes_the_files_that_are_told(
    exported_native: Any, page: str, files_of: Any, first: str, on_the_way: set[str]
) -> None:
    # Names its misspelt arguments from now on, as it may in any process.
    assert keras_transformer.export.Hypothesis
    told = re.search(r"passes (\d+) files", (INTERNALS / page).read_text(encoding="utf-8"))
    found = files_of(exported_native.path)
    assert found[0] == first
    assert on_the_way <= set(found)
    assert len(found) <= int(told[1]), "\n".join(found)
