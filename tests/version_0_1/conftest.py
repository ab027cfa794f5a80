"""Runs that version 0.1 made: a model with shared and one with separate matrices, each with the
logits it gave, and a training that was interrupted at step 10 of the 36 of "finished".
"""

import tarfile
from pathlib import Path

import pytest

NAMES = ("finished", "interrupted", "tied")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    with tarfile.open(Path(__file__).with_name("runs.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    for name in NAMES:
        # The same in all of them, hence packed once.
        (tmp_path / name / "tokenizer.model").write_bytes(
            (tmp_path / "tokenizer.model").read_bytes()
        )
    return tmp_path
