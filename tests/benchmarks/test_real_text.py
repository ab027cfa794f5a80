"""Real text: both engines' translations are timed, scored and compared."""

from pathlib import Path
from typing import Any

import pytest
from speed import artefacts
from speed.real_text import RealText, measure_texts

SOURCES = ["a small house stands here", "the dog runs to the river", "hello"]
REFERENCES = ["ein kleines Haus steht hier", "der Hund rennt zum Fluss", "hallo"]


class Scripted:
    """An engine that gives the same translations every time."""

    def __init__(self, seconds: float, translations: list[str]) -> None:
        self.seconds, self.translations = seconds, translations
        self.loaded: list[str] = []

    def ask(self, do: str, **arguments: Any) -> Any:
        if do == "load":
            self.loaded.append(arguments["precision"])
            return None
        assert arguments["texts"] == SOURCES
        return self.seconds if do == "measure_texts" else self.translations

    def settle(self) -> None:
        pass


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealText:
    """A run and its test set; nothing is exported."""
    monkeypatch.setattr(artefacts, "make", lambda *_, **__: None)
    (tmp_path / "model.keras").write_bytes(b"weights")
    for name, lines in (("test.en", SOURCES), ("test.de", REFERENCES)):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return RealText(tmp_path, tmp_path / "test.en", tmp_path / "test.de")


def test_a_row_for_each_search_and_precision(text: RealText, tmp_path: Path) -> None:
    workers = {
        "ours": Scripted(1.0, REFERENCES),
        "1": Scripted(4.0, [*REFERENCES[:2], "tag"]),
        "2": Scripted(3.0, []),
    }
    asked = (["greedy", "beam4"], ["int8", "int8_float32"], 2)
    rows = list(measure_texts(text, workers, tmp_path, *asked))
    assert [(row["precision"], row["search"]) for row in rows] == [
        *(("int8", "greedy"), ("int8", "beam4")),
        *(("int8_float32", "greedy"), ("int8_float32", "beam4")),
    ]
    assert rows[0]["ours"] == 3
    assert rows[0]["ratio"] == 3
    assert rows[0]["peer_name"] == "2"
    assert rows[0]["bleu"]["ours"] == 100
    assert 50 < rows[0]["bleu"]["peer"] < 100
    assert rows[0]["same"] == pytest.approx(2 / 3)
    assert workers["ours"].loaded == ["int8"] * 2 + ["int8_float32"] * 2


def test_float32_translations_that_differ_are_an_error_once_all_is_measured(
    text: RealText, tmp_path: Path
) -> None:
    workers = {
        "ours": Scripted(1.0, REFERENCES),
        "1": Scripted(4.0, [*REFERENCES[:2], "tag"]),
    }
    rows = measure_texts(text, workers, tmp_path, ["greedy", "beam4"], ["float32", "int8"], 1)
    assert [next(rows)["same"] for _ in range(4)] == [pytest.approx(2 / 3)] * 4
    with pytest.raises(ValueError, match=r"differ, greedy: 33.33% of 3 .*, beam4: 33.33% of 3"):
        next(rows)
    workers["1"].translations = REFERENCES
    assert len(list(measure_texts(text, workers, tmp_path, ["greedy"], ["float32"], 1))) == 1


def test_files_of_unequal_length_are_refused(text: RealText, tmp_path: Path) -> None:
    text.reference.write_text("nur eine Zeile\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"3 lines and .*test\.de 1: line n of the one must"):
        list(measure_texts(text, {}, tmp_path, ["greedy"], ["float32"], 1))
