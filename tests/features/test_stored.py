"""States on disk: as they are live, computed once, whatever kills the process."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.config.embedding import FeatureConfig
from keras_transformer.features import stored
from keras_transformer.features.stored import stored_states

CONFIG = FeatureConfig(num_layers=2, width=3)
TEXTS = [["a"] * length for length in (3, 0, 1, 2, 5, 0, 4)]


class Reader:
    """Gives each word the number of those before it; fails after so many texts."""

    def __init__(self, fails_after: int = 1000) -> None:
        self.words = self.texts = 0
        self.fails_after = fails_after

    def __call__(self, texts: Sequence[Sequence[str]]) -> list[np.ndarray]:
        found = []
        for words in texts:
            if self.texts == self.fails_after:
                raise KeyboardInterrupt
            first, self.words = self.words, self.words + len(words)
            numbers = np.arange(first, self.words, dtype=np.float16)
            found.append(np.broadcast_to(numbers[:, None, None], (len(words), 2, 3)))
            self.texts += 1
        return found


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_BLOCK", 2)


def expected() -> np.ndarray:
    return np.broadcast_to(np.arange(15, dtype=np.float16)[:, None, None], (15, 2, 3))


def test_states_are_computed_once(tmp_path: Path) -> None:
    first, second = Reader(), Reader()
    for reader in (first, second):
        found = stored_states(tmp_path / "made" / "x.states", TEXTS, CONFIG, reader)
        np.testing.assert_array_equal(found, expected())
    assert (first.texts, second.texts) == (7, 0)
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["x.states"]


@pytest.mark.parametrize("torn", [0, 5])
def test_a_killed_computation_goes_on_behind_its_last_whole_block(
    tmp_path: Path, torn: int
) -> None:
    path = tmp_path / "x.states"
    with pytest.raises(KeyboardInterrupt):
        stored_states(path, TEXTS, CONFIG, Reader(fails_after=5))
    assert not path.exists()
    [begun] = tmp_path.iterdir()
    begun.write_bytes(begun.read_bytes() + torn * b"\xff")
    again = Reader()
    again.words = 6
    np.testing.assert_array_equal(stored_states(path, TEXTS, CONFIG, again), expected())
    assert again.texts == 3


def test_a_file_of_another_size_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.states").write_bytes(b"12")
    with pytest.raises(ValueError, match="x.states has 2 bytes where its words have 180: delete"):
        stored_states(tmp_path / "x.states", TEXTS, CONFIG, Reader())
